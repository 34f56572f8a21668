"""The window map over time: a session turn by turn, and what each layer took away.

What a layer took from a request is hatched for this one turn. What the prompt cache held is
outlined.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ipywidgets has no types.

from functools import lru_cache

from ipywidgets import Play, jslink

from agentlib.estimation import prompt_tokens
from agentlib.lab.figures.style import many, wrapped
from agentlib.lab.figures.window_map import maps
from agentlib.lab.panels.panel import Panel, slider
from agentlib.lab.replay import replay
from agentlib.lab.replay.map_frames import Scene, scenes
from agentlib.settings import Settings
from agentlib.transcripts import Session


def map_over_time(session: Session, settings: Settings | None = None) -> Panel:
    """Show the map of each request, with a slider over the turns and a Play button.

    `settings`: the session is replayed under these; by default, its own. Raises ValueError for a
    session without requests.
    """
    every = scenes(session, replay(session, settings or session.settings))
    if not every:
        raise ValueError("there is no turn to draw: the session has no request")
    window = every[0].frame.settings.context_window
    kinds = {tile.kind for scene in every for tile in scene.tiles}
    largest = max(sum(tile.tokens + tile.gone for tile in scene.tiles) for scene in every)

    @lru_cache(maxsize=64)
    def draw(turn: int) -> tuple[bytes, str]:
        scene, title = every[turn - 1], "The window, request by request"
        options = {"top": max(1.02, largest / window), "high": 2.3}
        chart = maps({title: scene.tiles}, window, kinds=kinds, cached=scene.cached, **options)
        return chart.png(), scene_sentence(scene, len(every))

    turn = slider("turn", 1, (1, len(every), 1), "which request of the session")
    play = Play(min=turn.min, max=turn.max, value=turn.value, interval=600)
    jslink((play, "value"), (turn, "value"))
    return Panel({"turn": turn}, draw, play)


def scene_sentence(scene: Scene, turns: int) -> str:
    """Say what a map shows, and what the layers did before its request."""
    frame, blocks = scene.frame, sum(tile.tokens > 0 for tile in scene.tiles)
    gone = sum(tile.gone for tile in scene.tiles)
    window = frame.settings.context_window
    text = f"Turn {frame.turn} of {turns}: {blocks} blocks, {frame.prompt_tokens:,} tokens, "
    text += f"{100 * frame.prompt_tokens // window}% of the window of {window:,}."
    if frame.step.cleared and frame.compaction in (None, "failed"):
        text += f" Micro-compact took {gone:,.0f} tokens from "
        text += f"{many(len(frame.step.cleared), 'result')}."
    if frame.compaction == "failed":
        text += " A compaction failed; the messages stayed."
    elif frame.compaction:
        text += f" A compaction ({frame.compaction}) put a summary of {scene.summary:,.0f} tokens"
        text += f" in place of {scene.replaced} messages, {gone:,.0f} tokens."
    read = scene.usage.get("cache_read_input_tokens") or 0
    new = prompt_tokens(scene.usage) - read
    return wrapped(f"{text} {read:,} tokens were read from the cache, {new:,} were not in it.")
