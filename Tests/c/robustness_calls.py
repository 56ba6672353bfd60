"""Writes a C function for every export that calls it with given handles, for test_robustness.c.

The headers say which parameters are handles, and whether there is a destroy function. Some facts
are only in their comments; these are listed here: NULLABLE, BORROWED and TOLD.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packaging"))

from header import Function, Parameter, callbacks, enums, flags, functions, handles

HANDLES = handles()
ENUMS = list(enums())
FLAGS = flags()
CALLBACKS = [each.name for each in callbacks()]
OUT = {"ntapi_error **": "in->error", "size_t *": "in->length", "ntapi_event *": "in->events"}
OUT["ntapi_watch *"] = "in->watch"
OUT["ntapi_request **"] = "in->requests"
OUT["const char **"] = "NULL"
ENDING = {"ntapi_job_run", "ntapi_refresh_succeed", "ntapi_refresh_fail", "ntapi_refresh_decline"}
ENDING |= {"ntapi_store_call_reply", "ntapi_store_call_fail", "ntapi_refresh_succeed_with"}
"""Functions that free their handle, besides the `_free` functions."""
WITHOUT_VALUE = (
    "const int64_t *",
    "const char *const *",
    "const json_t *",
    "const ntapi_authenticator_options *",
    "const ntapi_cache_sharing *",
    "const ntapi_field *",
    "const ntapi_hooks *",
    "const ntapi_protection_space *",
    "const ntapi_rate_limiter_options *",
    "const ntapi_retry_policy *",
    "const ntapi_store_functions *",
    "const ntapi_stub_answer *",
    "const ntapi_token *",
    "const ntapi_token_sharing *",
    "const ntapi_python *",
    "ntapi_observation *",
)
BORROWED = {
    "ntapi_client_begin_event",
    "ntapi_client_begin_stream",
    "ntapi_client_cache",
    "ntapi_client_cookies",
    "ntapi_client_credential_storage",
    "ntapi_client_defaults",
    "ntapi_class_defaults",
    "ntapi_configuration_defaults",
    "ntapi_decision_http_request",
    "ntapi_decision_request",
    "ntapi_defaults_global",
    "ntapi_interception_http_request",
    "ntapi_interception_request",
    "ntapi_response_request",
}
"""Functions whose result is a borrowed handle. Pointers to const are borrowed, too."""
TOLD = {"ntapi_client_perform", "ntapi_client_background_error", "ntapi_response_error"}
"""Functions that return an error for a wrong handle, because NULL would look like success."""
NEVER_NULL = {"ntapi_error_get_details", "ntapi_interception_passage"}
"""Functions that return a struct, which means nothing for a wrong handle."""
NULLABLE = {
    *("ntapi_args_json value", "ntapi_args_rate_limiter limiter", "ntapi_args_executor executor"),
    *("ntapi_args_mailbox mailbox", "ntapi_class_create parent", "ntapi_defaults_set value"),
    *("ntapi_configuration_set_cache cache", "ntapi_configuration_set_credential_storage storage"),
    *("ntapi_client_create class_handle", "ntapi_client_create_with_configuration class_handle"),
    *("ntapi_client_create_with_configuration configuration", "ntapi_client_set_args args"),
    *("ntapi_authenticator_set_mailbox mailbox", "ntapi_client_set_authenticator authenticator"),
    *("ntapi_refresh_fail error", "ntapi_client_set_rate_limiter limiter"),
    *("ntapi_client_set_interceptors args", "ntapi_interception_fail error"),
    *("ntapi_client_begin args", "ntapi_client_perform args"),
    *("ntapi_client_create_request args", "ntapi_client_begin_event args"),
    "ntapi_client_begin_stream args",
    *("ntapi_client_perform_watching args", "ntapi_client_pull_watching args"),
    *("ntapi_client_restored_requests args",),
    *("ntapi_client_resume_restored_requests args", "ntapi_client_set_clock clock"),
    *("ntapi_client_set_stub stub", "ntapi_client_set_recorder recorder"),
    "ntapi_memory_store_create clock",
    *("ntapi_args_interceptor interceptor", "ntapi_response_next_page args"),
    "ntapi_args_member_json value",
}
"""Handles that may be NULL, besides those of the `_free` functions."""
SCALARS = {"double": "0.0", "size_t": "1", "int64_t": "1", "int": "1", "bool": "true"}


def handle_of(type_text: str) -> str | None:
    """The handle type that a pointer type points to."""
    match = re.fullmatch(r"(?:const )?(ntapi_\w+) \*", type_text)
    return match[1] if match and match[1] in HANDLES else None


def argument(parameter: Parameter, position: int) -> str:
    """The argument for a parameter; `position` counts handles."""
    handle = handle_of(parameter.type)
    if handle:
        return f"({handle} *)handles[{position}]"
    if parameter.type in OUT:
        return OUT[parameter.type]
    if parameter.type == "ntapi_destroy_fn":
        return "in->destroy"
    if parameter.type in CALLBACKS:
        return f"({parameter.type})in->callback"
    if parameter.type in ("const char *", "const void *"):
        return "in->text"
    if parameter.type == "char *":
        return "NULL"
    if parameter.type == "void *":
        return "in->user_data"
    if parameter.type in WITHOUT_VALUE:
        return "NULL"
    return f"({parameter.type}){SCALARS.get(parameter.type, '1')}"


def nullable(function: Function, parameter: Parameter) -> bool:
    """Whether a parameter may be NULL."""
    return function.name.endswith("_free") or f"{function.name} {parameter.name}" in NULLABLE


def call(function: Function) -> str:
    """The C function that calls an export and returns its result as a number."""
    arguments, position = [], 0
    for parameter in function.parameters:
        arguments.append(argument(parameter, position))
        position += handle_of(parameter.type) is not None
    expression = f"{function.name}({', '.join(arguments)})"
    is_new = not function.result.startswith("const") and function.name not in BORROWED
    handle = handle_of(function.result)
    if function.result == "void":
        body = f"{expression};\n    return 0;"
    elif handle and is_new:
        body = f"{function.result}result = {expression};\n    int there = result != NULL;\n"
        body += f"    {handle}_free(result);\n    return there;"
    elif function.result == "json_t *" and is_new:
        body = f"json_t *tree = {expression};\n    int there = tree != NULL;\n"
        body += "    json_decref(tree);\n    return there;"
    elif function.result == "char *":
        body = f"char *text = {expression};\n    int there = text != NULL;\n"
        body += "    ntapi_text_free(text);\n    return there;"
    elif function.result.endswith("*"):
        body = f"return {expression} != NULL;"
    elif function.result == "ntapi_status":
        body = f"return (int){expression};"
    else:
        body = f"(void){expression};\n    return 0;"
    head = f"static int call_{function.name}(void **handles, const struct inputs *in) {{\n"
    return f"{head}    (void)handles;\n    (void)in;\n    {body}\n}}\n"


def row(function: Function) -> str:
    """The line of the table for an export."""
    handles = [p for p in function.parameters if handle_of(p.type)]
    kinds = ", ".join(f"KIND_{handle_of(p.type)}" for p in handles) or "0"
    nullables = ", ".join(str(int(nullable(function, p))) for p in handles) or "0"
    result = "RESULT_OTHER"
    tells = function.name in TOLD
    if function.result == "ntapi_status":
        result = "RESULT_STATUS"
    elif handle_of(function.result) and tells:
        result = "RESULT_ERROR"
    elif function.result.endswith("*") and function.name not in NEVER_NULL:
        result = "RESULT_POINTER"
    destroys = int(any(p.type == "ntapi_destroy_fn" for p in function.parameters))
    frees = int(function.name.endswith("_free") or function.name in ENDING)
    fields = [f'"{function.name}"', f"call_{function.name}", str(len(handles))]
    fields += [f"{{{kinds}}}", f"{{{nullables}}}", result, str(destroys), str(frees)]
    return f"    {{{', '.join(fields)}}},\n"


def main() -> None:
    """Writes the file."""
    table = functions()
    known = set(CALLBACKS) | set(ENUMS) | set(FLAGS) | set(OUT) | set(SCALARS)
    known |= {"const char *", "const void *", "void *", "char *", *WITHOUT_VALUE}
    for function in table:
        for parameter in function.parameters:
            if parameter.type not in known and not handle_of(parameter.type):
                raise SystemExit(f"{function.name}: unknown type {parameter.type!r}")
    kinds = "".join(f"    KIND_{name},\n" for name in HANDLES)
    parts = ["/* Written by robustness_calls.py from the headers. */\n"]
    parts.append(f"enum kind {{\n{kinds}    KINDS\n}};\n")
    names = "".join(f'    "{name}",\n' for name in HANDLES)
    parts.append(f"static const char *const kind_names[] = {{\n{names}}};\n")
    parts += [call(function) for function in table]
    parts.append(f"static const struct export exports[] = {{\n{''.join(map(row, table))}}};\n")
    Path(sys.argv[1]).write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
