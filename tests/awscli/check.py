"""Reads AWS CLI commands, a JSON list, and prints what is wrong with each: "" if nothing is.

The AWS CLI generates its commands from the API models that botocore ships. What it adds by hand is listed here:
https://github.com/aws/aws-cli/tree/v2/awscli/customizations
"""

import json
import re
import shlex
import sys

import botocore.session
from botocore import xform_name

GLOBAL = {"region", "profile", "output", "query", "no-cli-pager", "no-paginate", "max-items"}
RENAMED = {"s3api": "s3"}
BY_HAND = {("eks", "update-kubeconfig"), ("logs", "tail"), ("ssm", "start-session"), ("s3", "cp"), ("s3", "ls"), ("cloudformation", "deploy"), ("eks", "get-token")}
ADDED = {
    ("ec2", "authorize-security-group-ingress"): {"protocol": "IpPermissions", "port": "IpPermissions", "source-group": "IpPermissions", "cidr": "IpPermissions"},
    ("ec2", "authorize-security-group-egress"): {"protocol": "IpPermissions", "port": "IpPermissions", "cidr": "IpPermissions"},
    ("ec2", "create-network-acl-entry"): {"ingress": "Egress", "egress": "Egress"},
    ("ec2", "replace-network-acl-entry"): {"ingress": "Egress", "egress": "Egress"},
}

session = botocore.session.get_session()
services = set(session.get_available_services())


def value_fault(option, shape, value):
    """What is wrong with a parsed value of a parameter."""
    if shape.type_name == "structure" and isinstance(value, dict):
        for key, item in value.items():
            if key not in shape.members:
                return f"{option} has no {key}"
            if fault := value_fault(option, shape.members[key], item):
                return fault
    elif shape.type_name == "list" and isinstance(value, list):
        for item in value:
            if fault := value_fault(option, shape.member, item):
                return fault
    elif shape.type_name == "string" and shape.enum and isinstance(value, str) and value not in shape.enum:
        return f"{option} cannot be {value}"
    return ""


def text_fault(option, shape, words):
    """What is wrong with the words of a parameter: JSON, the shorthand Key=Value, or plain values."""
    for word in words:
        if "$" in word:
            continue  # a variable of the shell
        of = shape.member if shape.type_name == "list" else shape
        if word.startswith(("{", "[")) and shape.type_name in ("structure", "list", "map"):
            try:
                value = json.loads(word)
            except ValueError as err:
                return f"{option}: {err}"
            fault = value_fault(option, shape if isinstance(value, list) == (shape.type_name == "list") else of, value)
        elif of.type_name == "structure":
            keys = re.findall(r"(?:^|,)([A-Za-z]+)=", word)
            fault = next((f"{option} has no {k}" for k in keys if k not in of.members), "")
        else:
            fault = value_fault(option, of, word)
        if fault:
            return fault
    return ""


def is_flag(shape):
    """Whether the AWS CLI has two options without a value for it, --x and --no-x."""
    return shape.type_name == "boolean" or shape.type_name == "structure" and list(shape.members) == ["Value"]


def first_of(command):
    """The words of the first command of a line, up to a separator or a redirection of the shell."""
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=";|&<>)")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = []
    for word in lexer:
        if word[0] in ";|&<>)" and not word.strip(";|&<>)"):
            break
        words.append(word)
    return words


def fault_of(command):
    """What is wrong with a command."""
    try:
        words = first_of(command)
    except ValueError as err:
        return f"cannot be parsed: {err}"
    service, operation, words = words[1], words[2], words[3:]
    if (service, operation) in BY_HAND:
        return ""
    service = RENAMED.get(service, service)
    if service not in services:
        return f"no service {service}"
    if operation == "wait":
        known = [xform_name(w, "-") for w in session.get_waiter_model(service).waiter_names]
        return "" if words and words[0] in known else f"no waiter {' '.join(words[:1])}"
    model = session.get_service_model(service)
    name = {xform_name(o, "-"): o for o in model.operation_names}.get(operation)
    if name is None:
        return f"no operation {operation}"
    shape = model.operation_model(name).input_shape
    members = {xform_name(m, "-"): m for m in shape.members} if shape else {}
    added, given = ADDED.get((service, operation), {}), set()
    if words and not words[0].startswith("--"):
        return f"{words[0]} belongs to no option"
    for i, word in enumerate(words):
        if not word.startswith("--"):
            continue
        option, _, value = word[2:].partition("=")
        if option in GLOBAL:
            continue
        member = added.get(option) or members.get(option) or members.get(option.removeprefix("no-"))
        if member is None:
            return f"no option --{option}"
        given.add(member)
        if option in added:
            continue
        values = [value] if value else []
        for w in words[i + 1 :]:
            if w.startswith("--"):
                break
            values.append(w)
        if not values and not is_flag(shape.members[member]):
            return f"--{option} has no value"
        if fault := text_fault("--" + option, shape.members[member], values):
            return fault
    lacking = [m for m in (shape.required_members if shape else []) if m not in given]
    return f"lacks --{xform_name(lacking[0], '-')}" if lacking else ""


json.dump([fault_of(c) for c in json.load(sys.stdin)], sys.stdout)
