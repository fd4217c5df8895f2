"""Prints a template as JSON, a SAM template as CloudFormation gets it: python transform.py TEMPLATE > OUTPUT.json

Works offline. AWS does the same when the template is deployed; done here, the result can be checked, or given to a
StackSet with service-managed permissions, which takes no template with a transform.
"""

import json
import os
import sys

from samtranslator.public.exceptions import InvalidDocumentException
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse


class NoManagedPolicies:
    """The template names none; looking their ARNs up would need an account."""

    def load(self):
        return {}


def main(path):
    os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-1")  # the translator wants one; nothing in the output depends on it
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file)
    if template.get("Transform") != "AWS::Serverless-2016-10-31":
        json.dump(template, sys.stdout, indent=2)
        return
    # Before it is packaged the code is a folder, which the translator does not take.
    code = template.get("Globals", {}).get("Function", {})
    if code.get("CodeUri") == ".":
        code["CodeUri"] = "s3://rollcall-artifacts/code.zip"
    try:
        json.dump(transform(template, {}, NoManagedPolicies()), sys.stdout, indent=2)
    except InvalidDocumentException as e:
        sys.exit("\n".join([e.message] + [c.message for c in e.causes]))


if __name__ == "__main__":
    main(sys.argv[1])
