"""The map over time: what stands where at each turn, what was taken, what the cache had."""

from dataclasses import replace
from itertools import pairwise

import pytest

from agentlib.lab.panels import lessons as over
from agentlib.lab.play import play
from agentlib.lab.replay import replay
from agentlib.lab.replay.map_frames import Scene, scenes
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.settings import Settings
from agentlib.transcripts import Session

START = Settings(threshold=50_000).scaled(32_000)
SESSION = play(REVIEW, START).session


def found(**settings: object) -> list[Scene]:
    return scenes(SESSION, replay(SESSION, replace(START, **settings)))


SCENES = found()


def test_the_tiles_of_a_scene_are_its_prompt():
    for scene in SCENES:
        assert sum(t.tokens for t in scene.tiles) == pytest.approx(scene.frame.prompt_tokens)
        assert [t.kind for t in scene.tiles[:2]] == ["system", "tools"]


def test_what_is_cleared_is_hatched_for_one_turn():
    for scene, after in pairwise(SCENES):
        if scene.frame.step.cleared and not scene.frame.compaction:
            lost = [t for t in scene.tiles if t.gone]
            assert {t.kind for t in lost} == {"placeholder"}
            assert len(lost) == len(scene.frame.step.cleared)
            if not (after.frame.step.cleared or after.frame.compaction):
                assert not any(t.gone for t in after.tiles)


def test_a_compaction_hatches_what_its_summary_stands_for():
    compacted = [scene for scene in SCENES if scene.frame.compaction]
    assert len(compacted) > 3
    for scene in compacted:
        assert sum(t.kind == "summary" for t in scene.tiles if t.tokens) >= 1
        assert sum(t.gone for t in scene.tiles) > 2 * scene.summary > 0
        assert scene.replaced >= 2


def test_nothing_is_taken_where_no_layer_works():
    quiet = found(enabled=False)
    assert not any(t.gone for scene in quiet for t in scene.tiles)


def test_the_cache_holds_the_tiles_before_the_first_change():
    for scene in SCENES:
        read = scene.usage["cache_read_input_tokens"]
        held = scene.tiles[: scene.cached]
        assert sum(t.tokens for t in held) <= 1.02 * read
        assert not any(t.gone for t in held)
    assert max(scene.cached for scene in SCENES) > 10
    assert SCENES[0].cached == 0


def test_a_session_without_requests_is_refused():
    with pytest.raises(ValueError, match="no turn to draw"):
        over.map_over_time(Session(session_id="empty"))
