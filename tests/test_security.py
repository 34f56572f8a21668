"""Each promise of SECURITY.md has tests, and here are those that stand nowhere else.

A promise that nothing holds yet stands here as a strict xfail.
"""

import re
import socket
from pathlib import Path
from typing import Any

import pytest

from agentlib.tools import Workspace
from agentlib.tools.shell import FILE_LIMIT, MEMORY_LIMIT
from agentlib.transcripts import load
from offline_api.__main__ import listen
from offline_api.server import Server
from session_report.__main__ import main
from tests.fakes import good, worker
from tests.runs import a_session, a_workspace, go

ROOT = Path(__file__).parent.parent
PROMISES = {
    "Key, address and model come from": """
        offline_api/test_client::a_file_with_a_key_is_the_only_source
        offline_api/test_client::a_dotenv_file_of_the_working_directory_gets_no_key
        offline_api/test_client::a_redirect_is_not_followed
        offline_api/test_client::live_headers_of_the_environment_go_with_its_key_alone
        agentlib/test_ways_to_send::the_key_goes_to_its_own_address_alone
        agentlib/test_ways_to_send::a_redirect_that_a_call_wants_followed_takes_the_key_nowhere
        offline_api/test_client::an_address_of_another_host_is_said_without_its_password
        agentlib/test_main::a_named_file_decides_whom_to_ask""",
    "The file tools neither read nor write": """
        agentlib/test_tools::a_file_of_keys_is_only_the_persons
        agentlib/test_tools::the_file_of_keys_is_the_persons_if_it_is_a_link_too
        agentlib/test_working_copy::what_is_large_and_no_source_stays_behind
        test_security::files_whose_names_only_resemble_env_are_read""",
    "No tool result shows": """
        agentlib/test_tools::no_result_shows_a_key
        agentlib/test_tools::every_long_value_of_the_file_of_keys_is_masked_whatever_its_name
        agentlib/test_tools::a_key_that_a_cut_divides_is_not_shown_in_part
        agentlib/test_loop::no_result_shows_the_key_or_the_token_in_use""",
    "A command gets a short list": """
        agentlib/test_shell::a_command_gets_only_what_it_needs""",
    "The file tools stay in the workspace": """
        agentlib/test_tools::no_path_leads_out
        agentlib/test_tools::no_symlink_leads_out""",
    "They never write what other programs": """
        agentlib/test_tools::what_other_programs_run_is_read_and_never_written
        agentlib/test_tools::settings_of_ci_and_of_other_agents_are_never_written
        agentlib/test_tools::a_protected_name_that_is_a_link_is_not_written_by_any_way
        agentlib/test_tools::whatever_links_there_are_nothing_appears_under_a_protected_name
        agentlib/test_tools::a_link_into_git_is_not_written_through""",
    "Live, and with `--in-place`": """
        agentlib/test_tools::a_file_is_kept_before_it_is_written
        agentlib/test_main::what_the_agent_wrote_in_the_folder_itself_is_put_back
        agentlib/test_main::what_was_changed_in_one_folder_is_not_put_back_in_another
        agentlib/test_main::undo_files_puts_back_nothing_that_a_folder_brought_along
        agentlib/test_before::a_note_that_somebody_planted_reaches_no_protected_name
        agentlib/test_before::what_stands_in_the_place_moves_aside_and_is_not_lost
        agentlib/test_before::nothing_is_written_through_a_link_that_leads_out_of_the_workspace""",
    "Offline the agent works on a copy": """
        agentlib/test_main::a_prompt_is_worked_on_in_a_copy
        agentlib/test_working_copy::half_a_copy_is_never_taken_for_a_whole_one""",
    "Nothing that lies beside a session file": """
        agentlib/test_main::nothing_beside_a_session_is_followed_through_a_link
        agentlib/test_main::a_copy_that_is_a_link_is_named_and_refused
        agentlib/test_before::no_copy_is_made_through_a_link
        agentlib/test_session_lock::what_stands_where_the_lock_goes_is_neither_written_nor_read""",
    "Live, each command runs in bubblewrap": """
        agentlib/test_shell::without_bubblewrap_nothing_runs_unasked
        agentlib/test_render::a_command_to_confirm_is_shown_whole_as_it_runs
        agentlib/test_render::no_blank_but_the_space_and_no_format_character_is_left_as_it_is
        agentlib/test_main::a_person_confirms_commands_and_stops_what_takes_too_long""",
    "In bubblewrap a command has no network": """
        agentlib/test_bubblewrap::in_bubblewrap_only_the_workspace_can_be_written
        agentlib/test_bubblewrap::in_bubblewrap_the_keys_of_the_folder_can_not_be_opened""",
    "Offline, commands run in bubblewrap": """
        agentlib/test_bubblewrap::offline_too_a_command_writes_nothing_outside
        agentlib/test_main::without_bubblewrap_offline_says_that_commands_are_not_confined""",
    "A command's process group ends": """
        agentlib/test_shell::a_timeout_keeps_what_was_said_and_ends_the_children_too
        agentlib/test_shell::what_is_left_in_the_background_ends_with_the_command
        agentlib/test_shell::a_command_ends_with_the_agent
        test_security::the_limits_of_a_command_are_those_that_are_promised""",
    "A command writes no file above 1 GB": """
        agentlib/test_shell::a_file_and_the_memory_of_a_command_are_limited
        test_security::the_limits_of_a_command_are_those_that_are_promised""",
    "The cap is held to within one request": """
        agentlib/test_cap::no_request_leaves_after_the_cap
        agentlib/test_cap::no_course_of_replies_leads_past_the_cap
        agentlib/test_ways_to_send::twenty_threads_on_one_client_send_one_request_at_a_time""",
    "Under a cap a client sends messages": """
        agentlib/test_ways_to_send::each_call_of_the_sdk_is_priced_free_or_refused
        agentlib/test_ways_to_send::after_the_cap_no_form_of_a_call_sends_anything
        agentlib/test_ways_to_send::after_the_cap_no_raw_call_sends_anything
        agentlib/test_ways_to_send::a_middleware_that_asks_twice_is_let_out_once
        agentlib/test_spending::a_call_that_is_no_message_is_refused_under_a_cap""",
    "A request that was sent and whose reply": """
        agentlib/test_spending::under_a_cap_a_reply_that_cannot_be_counted_is_the_last
        agentlib/test_spending::a_connection_that_is_refused_is_free_and_said
        agentlib/test_spending::an_error_of_the_api_itself_is_free
        agentlib/test_ways_to_send::a_reply_that_bills_something_beside_itself_is_counted_or_the_last""",
    "A request that you stop with Ctrl-C": """
        agentlib/test_spending::a_request_that_is_stopped_counts_as_the_most_it_can_cost
        agentlib/test_cap::a_request_that_is_stopped_counts_in_the_next_one""",
    "If the API is overloaded": """
        agentlib/test_spending::a_failure_that_passes_is_waited_for_and_said
        agentlib/test_spending::a_date_to_wait_for_is_read
        agentlib/test_spending::dates_that_move_along_end_within_three_minutes
        agentlib/test_spending::silence_ends_the_run_without_another_try
        agentlib/test_cap::no_request_leaves_after_the_cap""",
    "A reply is read up to 32 MB": """
        agentlib/test_spending::a_reply_is_read_up_to_a_bound
        agentlib/test_spending::a_compressed_reply_of_usual_size_is_read""",
    "Each message is on disk before": """
        agentlib/test_transcripts::every_message_is_on_disk_before_the_next_request
        agentlib/test_transcripts::an_agent_killed_at_thirty_moments_loses_nothing
        agentlib/test_session_file::a_full_disk_writes_all_lines_or_none
        agentlib/test_session_file::a_torn_line_is_closed_before_the_next
        agentlib/test_endpoints::a_session_survives""",
    "Two processes never work on one session": """
        agentlib/test_main::a_session_is_resumed_by_one_process_at_a_time
        agentlib/test_session_lock::a_session_that_another_process_holds_is_read_and_not_run
        agentlib/test_session_lock::a_session_that_grew_since_it_was_loaded_is_not_run""",
    "Some texts and counts would be refused": """
        agentlib/test_loop::half_a_surrogate_pair_in_a_prompt_costs_no_session
        agentlib/test_loop::a_count_of_tokens_that_cannot_be_one_costs_no_session
        agentlib/test_requests::any_reply_at_all_can_be_sent_back_and_is_left_alone_after_that""",
    "Each line has a checksum": """
        agentlib/test_transcripts::a_flipped_bit_never_changes_the_history_in_silence
        agentlib/test_transcripts::a_changed_text_is_told_by_the_number_of_its_line
        test_benchmarks::damaged_files_are_read_and_gone_on_with
        test_security::a_damaged_file_is_told_by_numbers_and_stays_as_it_is""",
    "`.transcripts/` is for your eyes only": """
        agentlib/test_session_file::only_its_owner_can_read_a_session
        agentlib/test_session_file::a_new_folder_of_sessions_is_private_and_no_part_of_a_repository
        agentlib/test_session_file::a_folder_of_sessions_that_a_repository_brought_is_made_private
        agentlib/test_session_file::a_folder_of_sessions_that_leads_elsewhere_is_refused_by_name""",
    "It listens on 127.0.0.1 only": """
        test_security::the_server_listens_on_this_machine_alone
        offline_api/test_api_over_http::another_host_is_refused
        offline_api/test_api_over_http::what_is_no_request_is_refused_in_the_apis_form
        offline_api/test_api_over_http::a_silent_client_is_let_go""",
    "`agentlib-sessions` only reads": """
        test_security::a_report_reads_files_sends_nothing_and_loads_nothing
        session_report/test_session_report::the_page_is_whole_and_loads_nothing""",
    "It masks keys and tokens": """
        session_report/test_session_report::keys_are_masked_with_and_without_texts
        session_report/test_session_report::without_texts_no_word_of_a_session_comes_out
        test_keys::what_leaves_the_history_has_no_key_in_it""",
    "`agentlib-keep hook` writes no file": """
        session_report/test_keep::it_writes_no_file_and_sends_nothing
        session_report/test_keep::it_always_has_fewer_than_9_000_units_and_can_be_sent
        session_report/test_keep::keys_are_masked
        session_report/test_keep::of_a_broken_event_it_says_one_line_and_exits_with_0""",
}
"""How a promise begins -> the tests that hold it."""


def promised() -> list[str]:
    """List the points of "What is promised"."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    _, _, part = text.partition("## What is promised")
    part, _, _ = part.partition("## What is not promised")
    return re.findall(r"^- (.*)", part, re.MULTILINE)


def test_each_promise_has_its_tests_and_they_exist():
    points = promised()
    assert len(points) > 20
    for point in points:
        [_] = [begin for begin in PROMISES if point.startswith(begin)]
    assert len(PROMISES) == len(points)
    for tests in PROMISES.values():
        for file, _, name in (test.partition("::") for test in tests.split()):
            source = (ROOT / "tests" / f"{file}.py").read_text(encoding="utf-8")
            assert f"def test_{name}(" in source


@pytest.mark.parametrize("name", [".envrc", ".env~", ".env.example", "dev.env"])
def test_files_whose_names_only_resemble_env_are_read(tmp_path: Path, name: str):
    workspace = a_workspace(tmp_path)
    (workspace.root / name).write_text("A=1\n")
    assert workspace.run("read_file", {"path": name}) == "A=1"


def test_the_limits_of_a_command_are_those_that_are_promised(tmp_path: Path):
    assert Workspace(tmp_path).time_limit == 120
    kilobyte = 1_024  # bash counts files and memory by it
    assert FILE_LIMIT * kilobyte == pytest.approx(1e9, rel=0.05)
    assert MEMORY_LIMIT * kilobyte == pytest.approx(4e9, rel=0.05)


def test_a_damaged_file_is_told_by_numbers_and_stays_as_it_is(tmp_path: Path):
    session = a_session(tmp_path)
    go(worker(3), a_workspace(tmp_path), session)
    assert session.path
    lines = session.path.read_text(encoding="utf-8").splitlines()
    lines[4] = lines[4].replace("step", "stop", 1)
    lines[6] = lines[6][:-9]
    session.path.write_text("\n".join([*lines, lines[5], ""]), encoding="utf-8")
    before = session.path.read_bytes()
    loaded = load(session.path)
    told = " ".join(map(str, [*loaded.damage, *loaded.skipped]))
    assert re.search(r"\b5\b", told)
    assert re.search(r"\b7\b", told)
    assert session.path.read_bytes() == before


def test_the_server_listens_on_this_machine_alone():
    running = listen(Server(good).answer)
    with running:
        assert running.server_address[0] == "127.0.0.1"


def test_a_report_reads_files_sends_nothing_and_loads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    session = a_session(tmp_path)
    go(worker(3), a_workspace(tmp_path), session)
    assert session.path
    before = session.path.read_bytes(), session.path.stat().st_mtime_ns
    opened = list[Any]()

    def connect(_: socket.socket, address: Any) -> None:
        opened.append(address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as end:
        main([str(session.path), "--html", str(page), "--jobs", "1"])
    assert end.value.code in (0, None)
    assert opened == []
    assert (session.path.read_bytes(), session.path.stat().st_mtime_ns) == before
    [policy] = re.findall(
        r'Content-Security-Policy" content="([^"]*)"', page.read_text("utf-8")
    )
    assert "default-src 'none'" in policy
    sources = re.findall(r"(\S+)-src ([^;]*)", policy)
    assert all("http" not in allowed and "*" not in allowed for _, allowed in sources)
