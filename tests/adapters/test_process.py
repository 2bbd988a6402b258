"""What a call's process gets, and what is left of it: nothing inherited, nothing left."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

import anyio
import pytest
from adapter_scripts import JUDGE, SESSION, Bench

from scorehost.adapters.requests import BehaviorRequest, TriggerRequest
from scorehost.spec.commands import FIXED_PATH
from scorehost.spec.profiles import Profiles

pytestmark = pytest.mark.anyio

TREE = """
def look():
    where = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR")}
    return {**where, "cwd": os.getcwd()}
"""
PLUGIN = b"any bytes \x00\xff"
PLUGIN_SHA256 = hashlib.sha256(PLUGIN).hexdigest()


async def test_the_environment_holds_what_the_contract_lists_and_nothing_else(bench, monkeypatch):
    monkeypatch.setenv("SENTINEL", "of-the-controller")
    call = await bench.call(
        "say(reply(output=dict(os.environ)))",
        pass_env=("MY_KEY",),
        environment={"MY_KEY": "abc", "OTHER": "no"},
    )
    seen = call.reply.output
    assert {name: seen.pop(name) for name in ("PATH", "LANG", "LC_ALL", "MY_KEY")} == {
        "PATH": FIXED_PATH,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "MY_KEY": "abc",
    }
    assert set(seen) == {"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR"}


async def test_each_call_has_empty_folders_of_its_own_that_are_gone_afterwards(bench):
    code = TREE + "places = look()\nfull = [p for p in places.values() if os.listdir(p)]\n"
    code += "for p in places.values(): open(p + '/left', 'w').write('x')\n"
    code += "os.mkdir('shut'); open('shut/in', 'w').close(); os.chmod('shut', 0)\n"
    code += "say(reply(output={'places': sorted(places.values()), 'full': full}))"
    async with bench.open(code) as roles:
        first, second = [await roles.call("judge", SESSION) for _ in range(2)]
    one, other = set(first.reply.output["places"]), set(second.reply.output["places"])
    assert (len(one), len(other), one & other) == (5, 5, set())
    assert first.reply.output["full"] == second.reply.output["full"] == []
    folders = first.record.tries[0].folders
    empty = "sha256:" + hashlib.sha256(b"").hexdigest()
    assert set(folders.before.values()) == {empty}
    assert empty not in folders.after.values()


async def test_no_descriptor_is_inherited_and_the_session_is_its_own(bench):
    with open(os.devnull) as stray:  # noqa: ASYNC230, PTH123 - what is to be inherited by nobody
        os.set_inheritable(stray.fileno(), True)  # noqa: FBT003 - positional only
        code = "told = {'fds': sorted(os.listdir('/proc/self/fd')), 'own': os.getsid(0) == os.getpid()}\n"
        code += "say(reply(output=told))"
        seen = (await bench.call(code)).reply.output
    # The listing itself holds one more.
    assert seen == {"fds": ["0", "1", "2", "3"], "own": True}


async def test_stdin_is_one_object_and_its_end(bench):
    call = await bench.call("data = sys.stdin.read()\nsay(reply(output=json.loads(data)))")
    assert call.reply.output == {
        "mode": "session",
        "role": "judge",
        "session_id": "s1",
        "turn": 1,
        "prompt": "look at it",
        "messages": [],
        "tools": [],
    }


async def test_an_adapter_that_reads_nothing_of_a_long_request_may_answer(bench):
    long = SESSION.model_copy(update={"prompt": "x" * 3_000_000})
    assert (await bench.call("say(reply())", long)).fault is None


async def test_the_judge_gets_the_case_and_the_assertion_only(bench):
    code = "say(reply(status='passed', reason=sys.stdin.read(), case_id='other', assertion={'id': 'other'}))"
    call = await bench.call(code, JUDGE)
    assert call.reply.reason == (
        '{"assertion":{"description":"it is four","id":"a1","oracle":"llm_judge","severity":"error"},'
        '"case_id":"c1","output":"4","prompt":"add 2 and 2"}\n'
    )
    assert b'"case_id":"c1"' in call.request


WITH_PLUGIN = """
import hashlib
request = json.loads(sys.stdin.read())
archive = request["plugin_archive"]
digest = hashlib.sha256(open(archive, "rb").read()).hexdigest() if archive else None
told = dict(loaded_plugin_sha256=digest, clean_control=archive is None)
told.update(selected_skill="s", output=json.dumps(request))
"""


async def test_behavior_gets_the_plugin_in_treatment_and_none_in_control(bench):
    treatment = BehaviorRequest(condition="treatment", prompt="do", plugin_archive=PLUGIN)
    call = await bench.call(WITH_PLUGIN + "say(reply(**told))", treatment)
    assert call.reply.loaded_plugin_sha256 == PLUGIN_SHA256
    assert '"plugin_archive": "' in call.reply.output
    control = await bench.call(
        WITH_PLUGIN + "say(reply(**told))", BehaviorRequest(condition="control", prompt="do")
    )
    assert (control.reply.loaded_plugin_sha256, control.reply.clean_control) == (None, True)
    assert (
        control.request == b'{"condition":"control","mode":"behavior","plugin_archive":null,"prompt":"do"}\n'
    )


async def test_trigger_is_a_skill_or_null_and_must_be_said(bench):
    request = TriggerRequest(prompt="do", plugin_archive=PLUGIN)
    assert (await bench.call(WITH_PLUGIN + "say(reply(**told))", request)).reply.selected_skill == "s"
    none = await bench.call(WITH_PLUGIN + "told['selected_skill'] = None\nsay(reply(**told))", request)
    assert (none.fault, none.reply.selected_skill) == (None, None)
    left = await bench.call(WITH_PLUGIN + "del told['selected_skill']\nsay(reply(**told))", request)
    assert left.fault.kind == "adapter_malformed"


@pytest.mark.parametrize(
    ("condition", "change"),
    [
        ("treatment", "told['loaded_plugin_sha256'] = None"),
        ("treatment", "told['loaded_plugin_sha256'] = '0' * 64"),
        ("treatment", "del told['loaded_plugin_sha256']"),
        ("control", f"told['loaded_plugin_sha256'] = '{PLUGIN_SHA256}'"),
        ("control", "told['clean_control'] = False"),
        ("control", "del told['clean_control']"),
    ],
)
async def test_a_wrong_plugin_or_an_unclean_control_is_a_fault(bench, condition, change):
    archive = PLUGIN if condition == "treatment" else None
    request = BehaviorRequest(condition=condition, prompt="do", plugin_archive=archive)
    call = await bench.call(f"{WITH_PLUGIN}{change}\nsay(reply(**told))", request)
    assert call.fault.kind == "adapter_malformed"


def test_control_with_a_plugin_and_treatment_without_one_cannot_be_asked():
    for condition, archive in (("control", PLUGIN), ("treatment", None)):
        with pytest.raises(ValueError, match="treatment needs"):
            BehaviorRequest(condition=condition, prompt="do", plugin_archive=archive)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:  # noqa: PTH123
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("keys", ["", "start_new_session=True, "])
@pytest.mark.parametrize("end", ["time.sleep(600)", "pass"])
async def test_nothing_that_an_adapter_started_lives_on(bench, tmp_path, keys, end):
    note = tmp_path / "pid"
    child = f"child = subprocess.Popen(['sleep', '600'], {keys}stdout=subprocess.DEVNULL)"
    code = f"{child}\nopen({str(note)!r}, 'w').write(str(child.pid))\nsay(reply())\n{end}"
    call = await bench.call(code, timeout_seconds=1)
    assert (call.fault is None) == (end == "pass")
    assert not alive(int(note.read_text()))


async def test_a_grandchild_that_holds_stderr_does_not_hold_the_call(bench):
    began = time.monotonic()
    call = await bench.call("subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)\nsay(reply())")
    assert (call.fault, time.monotonic() - began < 5) == (None, True)


async def test_a_cancel_ends_the_process_and_its_folders(bench, tmp_path):
    note = tmp_path / "pid"
    code = f"open({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    async with bench.open(code) as roles:
        began = time.monotonic()
        with anyio.move_on_after(0.8) as scope:
            await roles.call("judge", SESSION)
    assert scope.cancelled_caught
    assert time.monotonic() - began < 3
    assert not alive(int(note.read_text()))


async def test_the_model_and_the_parameters_stand_where_the_command_asks_for_them(bench):
    code = "say(reply(output={'argv': sys.argv[1:]}))"
    role = bench.role(code, "{model}", "{parameters}", "{model}s", model="a/b", parameters={"temperature": 0})
    async with bench.open(role=role) as roles:
        call = await roles.call("judge", SESSION)
    assert call.reply.output["argv"] == ["a/b", '{"temperature":0}', "{model}s"]
    assert (call.record.model, call.record.parameters) == ("a/b", {"temperature": 0})


async def test_a_script_that_changes_while_the_job_runs_is_not_played(bench):
    async with bench.open("say(reply())") as roles:
        assert (await roles.call("judge", SESSION)).fault is None
        (script,) = bench.folder.iterdir()
        script.write_text(script.read_text() + "\n# changed")
        changed = await roles.call("judge", SESSION)
        script.unlink()
        gone = await roles.call("judge", SESSION)
    assert [changed.fault.kind, gone.fault.kind] == ["adapter_missing", "adapter_missing"]


async def test_a_role_that_is_not_bound_or_does_not_play_the_mode_is_missing(bench):
    async with bench.open(role=bench.role("say(reply())", modes=("session",))) as roles:
        assert (await roles.call("solver", SESSION)).fault.kind == "adapter_missing"
        call = await roles.call("judge", JUDGE)
    assert (call.fault.kind, len(call.record.tries)) == ("adapter_missing", 1)


async def test_what_is_bound_is_told_with_digests_and_isolation(bench):
    async with bench.open("say(reply())") as roles:
        bound = roles.bound["judge"]
        assert (roles.isolation, bound.isolation) == ("none", "none")
    (script,) = bench.folder.iterdir()
    assert bound.command.script == str(script)
    assert bound.command.script_sha256 == hashlib.sha256(script.read_bytes()).hexdigest()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start processes as another user")
class TestAdapterUser:
    """`adapter_user: nobody`, a user that every Linux has."""

    @pytest.fixture
    def opened(self, tmp_path, monkeypatch):  # noqa: ARG002 - first of all, since pytest uses tempfile too
        # Not below the test's own folder, which only root may enter.
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            scripts, calls = Path(place, "scripts"), Path(place, "calls")
            for folder in (Path(place), scripts, calls):
                folder.mkdir(exist_ok=True)
                folder.chmod(0o755)
            monkeypatch.setattr(tempfile, "tempdir", str(calls))
            yield Bench(scripts)
            assert list(calls.iterdir()) == []

    def profiles(self, bench, code):
        return Profiles(agent_profiles={"judge": self.role(bench, code)}, adapter_user="nobody")

    def role(self, bench, code):
        role = bench.role(code)
        # The interpreter of the test may lie where only root gets.
        return role.model_copy(update={"command": ("/usr/bin/python3", role.command[1])})

    async def test_it_runs_as_that_user_without_other_groups(self, opened, tmp_path):
        private = tmp_path / "private"
        private.mkdir(mode=0o700)
        code = "told = {'uid': os.getuid(), 'groups': os.getgroups(), 'work': os.access('.', os.W_OK)}\n"
        code += f"told['private'] = os.access({str(private)!r}, os.R_OK)\nsay(reply(output=told))"
        async with opened.open(profiles=self.profiles(opened, code), private=[private]) as roles:
            call = await roles.call("judge", SESSION)
            assert roles.isolation == "nobody"
        assert call.reply.output == {"uid": 65534, "groups": [], "work": True, "private": False}

    async def test_a_user_that_can_read_what_is_private_is_refused(self, opened):
        data = opened.folder.parent / "data"
        data.mkdir()
        data.chmod(0o755)
        with pytest.raises(Exception, match=r"`nobody` can read .*data"):
            async with opened.open(profiles=self.profiles(opened, "say(reply())"), private=[data]):
                pass

    async def test_an_adapter_that_the_user_cannot_read_is_refused(self, opened):
        profiles = self.profiles(opened, "say(reply())")
        opened.folder.chmod(0o700)
        with pytest.raises(Exception, match=r"`nobody` cannot read .*adapter0\.py"):
            async with opened.open(profiles=profiles):
                pass

    @pytest.mark.parametrize(("name", "says"), [("root", "is root"), ("no-such-user", "there is no user")])
    async def test_root_and_unknown_users_are_refused(self, bench, name, says):
        with pytest.raises(Exception, match=says):
            async with bench.open(role=bench.role("say(reply())", adapter_user=name)):
                pass
