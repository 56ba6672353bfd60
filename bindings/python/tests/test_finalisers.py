"""Finalisers import nothing. One may run in a forked child or in the middle of an import, while
another thread, which may be gone, holds the lock of an import.
"""

from __future__ import annotations

from conftest import run_python


def test_a_forked_child_ends_whatever_its_parent_imports() -> None:
    code = """
import importlib.machinery, os, pkgutil, signal, sys, threading
import ntapi

forking = threading.Event()
begun = threading.Semaphore(0)

# A thread with a mailbox of its own, which the child drops.
ready = threading.Event()
def own():
    ntapi.mailbox()
    ready.set()
    forking.wait()
threading.Thread(target=own, daemon=True).start()
ready.wait()

# Each module that is not there yet is being imported by a thread of its own when the fork happens.
class Slow:
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name in missing else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        begun.release()
        forking.wait()

names = {module.name for module in pkgutil.iter_modules(ntapi.__path__, "ntapi.")}
runtime = pkgutil.iter_modules(ntapi._runtime.__path__, "ntapi._runtime.")
names |= {module.name for module in runtime}
missing = names - set(sys.modules)
assert len(missing) > 15, missing
sys.meta_path.insert(0, Slow())
for name in missing:
    threading.Thread(target=__import__, args=(name,), daemon=True).start()
for name in missing:
    begun.acquire()
child = os.fork()
if not child:
    # End the child if it would wait for ever.
    signal.alarm(30)
    os._exit(0)
status = os.waitpid(child, 0)[1]
forking.set()
print(os.waitstatus_to_exitcode(status), flush=True)
os._exit(0)
"""
    result = run_python(code)
    assert result.stdout == "0\n", result.stderr


def test_what_is_dropped_imports_nothing() -> None:
    code = """
import asyncio, builtins, gc, sys, threading
import ntapi
from ntapi.testing import ManualClock, Stub

stub = Stub()
stub.on("GET", "ok").answer(json={"a": 1})
gc.disable()
imported = []
original = builtins.__import__
def recording(name, *arguments):
    # Leave out imports by the package's own threads: no finaliser runs there.
    if not threading.current_thread().name.startswith("ntapi-"):
        imported.append(name)
    return original(name, *arguments)

def thread_that_leaves_a_request(client):
    def work():
        client.create_request("ok", ntapi.response_thread(ntapi.CURRENT)).resume()
        builtins.__import__ = recording
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    builtins.__import__ = original

async def loop(client):
    await client.send("ok")
    request = client.begin("ok")
    async with client.stream("ok") as chunks:
        pass
    await client.close()

def objects():
    client = ntapi.Client("https://api.example", stub=stub)
    client.authenticator = ntapi.Authenticator(lambda _: "x", token="t")
    begun = client.begin("ok", handler=id)
    stream = client.stream("ok")
    response = client.send("ok")
    error = client.perform("missing").error
    return [client, begun, stream, response, error, client.create_request("ok"), ntapi.Mailbox(),
            ManualClock(), ntapi.RateLimiter(100, 1), ntapi.Cache(), client.stream("ok"),
            client.lines("ok"), client.events("ok"), response.headers]

def use():
    thread_that_leaves_a_request(ntapi.Client("https://api.example", stub=stub))
    asyncio.run(loop(ntapi.AsyncClient("https://api.example", stub=stub)))
    kept = objects()
    builtins.__import__ = recording
    kept.clear()

use()
builtins.__import__ = recording
gc.collect()
builtins.__import__ = original
assert not imported, imported
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr
