"""A server that misbehaves on purpose: one scenario per path, listed by `GET /`.

`python -m fault` in the folder above starts it. Scenarios live in modules by theme; each is a
coroutine registered with `@scenario`, whose first line of documentation is its entry in the list.
The README of the folder above says why it is there beside `ntapi.testing.Server`.
"""
