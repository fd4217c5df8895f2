"""The emulated AWS of the testbed: moto, and what moto does not do.

    python tests/emulator/emulator.py --port 5000

AWS calls go to the port as they would to AWS. A JSON API under /_rollcall/ tells the emulator what to be:

    GET    health
    POST   reset                            empties everything but the identities
    PUT    identities                       {access key id: {"arn", "userId"}}: whom GetCallerIdentity names
    GET    calls, DELETE calls              the log of all calls, in order of arrival
    GET    unexpected                       answers that AWS would not have given
    GET    holdings                         the names of what the account has, see get_holdings
    POST   faults, DELETE faults            see Fault
    PUT    page-size                        {"size": n}: the most reservations on a page of DescribeInstances
    POST   foundation                       {"cluster", "role"}: what an EKS cluster stands on, see post_foundation
    PUT    clusters/NAME                    endpoint, ca, status, version, tags, authenticationMode, createdAt, network
                                            (resourcesVpcConfig) and zonalShift of an EKS cluster
    DELETE clusters/NAME                    EKS knows it no more
    PUT    clusters/NAME/access-entries     the access entries of an EKS cluster, each with its access policies
    PUT    clusters/NAME/nodegroups/GROUP   {"nodeRepair": bool, "status", "issues"}: a managed node group, made if there
                                            is none
    PUT    clusters/NAME/shifts             the zonal shifts of an EKS cluster, see put_shifts
    PUT    instances/ID                     see put_instance
    DELETE instances/ID                     EC2 no longer knows it
    PUT    groups/NAME                      {"suspended", "activities", "desired", "tags"} of an Auto Scaling group, see
                                            put_group
    POST   events                           {"instance", "state"}: an EC2 state-change event on the default bus;
                                            {"instance", "announced"}: one of that detail-type, about a Spot Instance

Differences from moto that hold without being asked for: instances of EKS Auto Mode are left out of answers to calls
that do not set IncludeManagedResources; instances' ids count up from each reset on, so that a test knows their order;
they say who operates them and in which zone, by its id; a call that an SDK tries again though it was answered, since the
connection broke, is one call; status checks are filtered and paged; only a running instance can be rebooted, and a
reboot of a terminated one is ignored; events carry their account; and a crash of moto is answered with an error that
SDKs do not retry.
"""

import argparse
import contextlib
import functools
import io
import itertools
import json
import os
import re
import signal
import sys
import threading
import traceback
from datetime import datetime, timezone
from urllib.parse import parse_qsl, urlencode
from xml.sax.saxutils import escape

parser = argparse.ArgumentParser(description="emulated AWS for Rollcall's tests")
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--exempt", default="", help="access key id whose calls suffer neither faults nor the page cap")
OPTIONS = parser.parse_args()
os.environ["MOTO_PORT"] = str(OPTIONS.port)  # moto reads it when it is imported

from moto.autoscaling.models import autoscaling_backends  # noqa: E402
from moto.cloudformation.models import cloudformation_backends  # noqa: E402
from moto.core import responses  # noqa: E402
from moto.core.responses import ActionResult  # noqa: E402
from moto.core.routing import get_service_router  # noqa: E402
from moto.core.request import Request  # noqa: E402
from moto.core.serialize import XFormedAttributePicker  # noqa: E402
from moto.core.types import Base64EncodedString  # noqa: E402
from moto.dynamodb.models import dynamodb_backends  # noqa: E402
from moto.ec2.exceptions import EC2ClientError, InvalidInstanceIdError  # noqa: E402
from moto.ec2.models import amis as image_models, ec2_backends, instances as instance_models  # noqa: E402
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend  # noqa: E402
from moto.ec2.models.instances import Instance, InstanceBackend, InstancePlacement, InstanceState  # noqa: E402
from moto.ec2.responses.general import General  # noqa: E402
from moto.ec2.responses.instances import InstanceResponse  # noqa: E402
from moto.eks.models import Nodegroup, eks_backends  # noqa: E402
from moto.iam.models import AWSManagedPolicy, IAMBackend, aws_managed_policies_data, iam_backends  # noqa: E402
from moto.events.models import events_backends  # noqa: E402
from moto.events.utils import EventTemplateParser  # noqa: E402
from moto.logs.models import logs_backends  # noqa: E402
from moto.moto_api._internal.models import moto_api_backend  # noqa: E402
from moto.moto_server.werkzeug_app import (  # noqa: E402
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.s3.models import s3_backends  # noqa: E402
from moto.scheduler.models import scheduler_backends  # noqa: E402
from moto.sns.models import sns_backends  # noqa: E402
from moto.sqs.models import sqs_backends  # noqa: E402
from moto.ssm.models import ssm_backends  # noqa: E402
from werkzeug.serving import run_simple  # noqa: E402

ACCOUNT = "123456789012"
DEFAULT_REGION = "eu-west-1"
REQUEST_ID = "00000000-0000-4000-8000-000000000000"
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")  # of the roles of nodes
NODE_IMAGE = {  # the AMI of nodes: an EKS-optimized Amazon Linux 2023
    "ami_id": "ami-0a2023e5d00000001",
    "name": "amazon-eks-node-al2023-x86_64-standard-1.36-v20261103",
    "description": "EKS-optimized Kubernetes node based on Amazon Linux 2023, (k8s: 1.36.3, containerd: 2.1.*)",
    "owner_id": "123456789012",
    "image_location": "amazon/amazon-eks-node-al2023-x86_64-standard-1.36-v20261103",
    "public": True,
    "architecture": "x86_64",
    "virtualization_type": "hvm",
    "hypervisor": "xen",
    "root_device_type": "ebs",
    "root_device_name": "/dev/xvda",
    "creation_date": "2026-11-03T00:00:00.000Z",
}
STATE_CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
EVENT_TEMPLATE = (  # what targets receive: moto's own with the account; the time is a number until it is sent
    '{"version": "0", "id": "<id>", "detail-type": "<detail-type>", "source": "<source>", "account": "<account>", '
    '"time": <time>, "region": "<region>", "resources": <resources>, "detail": <detail>}'
)
AUTO_MODE_TAG = "eks:kubernetes-node-pool-name"
CHECK_DETAILS = {"ok": "passed", "impaired": "failed"}
STATUS_FILTERS = {  # of DescribeInstanceStatus, by what of an instance they ask after
    "instance-status.status": lambda i: i.instance_status["Status"],
    "system-status.status": lambda i: i.system_status["Status"],
    "attached-ebs-status.status": lambda i: i.attached_ebs_status["Status"],
    "application-status.status": lambda i: "not-applicable",
    "event.code": lambda i: [e["Code"] for e in i.events],
    "instance-state-name": lambda i: i.state,
    "instance-state-code": lambda i: str(i.state_code),
    "availability-zone": lambda i: i.availability_zone,
}
STATED = (  # what is said of an instance that moto does not know
    *("instanceStatus", "systemStatus", "attachedEbsStatus", "impairedSince", "events"),
    *("console", "managed", "hidden", "onReboot"),
)
NAMING = re.compile(  # the parameters that say what a call is about
    r"(^|\.)(\w*(Id|Ids|Arn|ARN|Url)|InstanceIds?|ResourceId|name|\w*Name|\w*GroupNames|resources?)(\.member)?(\.\d+)?$"
)
SHIFTED = re.compile("/managedresources/(.+)")
NEXT_TOKEN = re.compile(rb'<[nN]extToken>([^<]+)</|"[nN]extToken": ?"([^"]+)"')
ERROR_CODE = re.compile(rb'<Code>([^<]+)</Code>|"__type": ?"(?:[^"#]*#)?([^"]+)"')


def now():
    return datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


class State:
    """All that the emulator knows beside moto. Guarded by its lock."""

    def __init__(self):
        self.lock = threading.RLock()
        self.identities = {}
        self.empty()

    def empty(self):
        self.calls, self.unexpected, self.faults = [], [], []
        self.page_size = 0
        self.ids = itertools.count(1)
        self.pages = {}  # the number of the page that a token leads to
        self.access_entries = {}  # by cluster
        self.access_policies = {}  # those of an access entry, by cluster and principal
        self.shifts = {}  # by cluster
        self.activities = {}  # by Auto Scaling group
        self.answered = {}  # the latest answers, by the id that an SDK gives to all tries of a call


STATE = State()
STORES = threading.Lock()  # one request to DynamoDB or S3 at a time
REQUEST = threading.local()  # what the patched parts of moto need to know of the request they are in


class Call:
    """One AWS call: who asks what of which service, in terms that do not depend on the protocol."""

    def __init__(self, environ, body):
        self.environ, self.body = environ, body
        self.method, self.path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        self.query = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
        self.target = environ.get("HTTP_X_AMZ_TARGET", "")
        if "X-Amz-Credential" in self.query:  # presigned: moto wants to see a header
            environ.setdefault(
                "HTTP_AUTHORIZATION",
                "AWS4-HMAC-SHA256 Credential={X-Amz-Credential}, SignedHeaders={X-Amz-SignedHeaders}, "
                "Signature={X-Amz-Signature}".format_map(self.query),
            )
        scope = re.search(r"Credential=([^,/\s]+)/[^/]+/([^/]+)/([^/]+)/", environ.get("HTTP_AUTHORIZATION", ""))
        self.key, self.region, self.service = scope.groups() if scope else ("", DEFAULT_REGION, "")
        self.params = {k: v for k, v in self.query.items() if not k.startswith("X-Amz-")}
        self.action = self._parse()
        self.page = STATE.pages.get(self.params.get("NextToken") or self.params.get("nextToken"), 1)

    def _parse(self):
        """Fills in the parameters and returns the name of the operation."""
        if "form-urlencoded" in self.environ.get("CONTENT_TYPE", ""):
            self.params.update(parse_qsl(self.body.decode(), keep_blank_values=True))
        elif self.service != "s3":  # where a body is somebody's data and says nothing about the call
            try:
                flatten("", json.loads(self.body), self.params)
            except ValueError:
                pass  # no body, or one that is not JSON
        if "Action" in self.params:
            return self.params["Action"]
        if self.target:
            return self.target.rsplit(".", 1)[-1]
        if rpc := re.search(r"/operation/(\w+)$", self.path):
            return rpc.group(1)
        if shifted := SHIFTED.fullmatch(self.path):  # an ARN with a slash, which no router takes for one label
            self.params["resourceIdentifier"] = shifted.group(1)
            return "GetManagedResource"
        try:
            request = Request(dict(self.environ, **{"wsgi.input": io.BytesIO(self.body)}))
            operation, labels = get_service_router(self.service).match(request)
            self.params.update({k: str(v) for k, v in labels.items()})
            return operation.name
        except Exception:  # a service or path that botocore does not know: the path says it as well
            return f"{self.method} {self.path}"

    def protocol(self):
        if self.service in ("ec2", "s3"):
            return self.service
        if "Action" in self.params:
            return "query"
        return "json" if self.target else "rest"

    def record(self):
        return {
            "time": now(),
            "service": self.service,
            "action": self.action,
            "region": self.region,
            "accessKeyId": self.key,
            "status": 0,
            "errorCode": "",
            "injected": False,
            "params": self.params,
            "resources": [v for k, v in self.params.items() if NAMING.search(k) and not k.startswith("Filter.")],
        }


def flatten(prefix, value, into):
    """Writes the leaves of a JSON value into a dict, keyed by their path; lists count from 1, as in the query protocol."""
    if isinstance(value, dict):
        for k, v in value.items():
            flatten(f"{prefix}.{k}" if prefix else k, v, into)
    elif isinstance(value, list):
        for i, v in enumerate(value, 1):
            flatten(f"{prefix}.{i}", v, into)
    elif prefix and value is not None:
        into[prefix] = str(value).lower() if isinstance(value, bool) else str(value)


class Answer:
    def __init__(self, status, headers, body, code=""):
        self.status, self.headers, self.body, self.code = status, headers, body, code


def as_json(value, status=200):
    return Answer(status, [("Content-Type", "application/json")], json.dumps(value).encode())


def error(call, status, code, message):
    """An AWS error in the protocol of the call."""
    xml, protocol = [("Content-Type", "text/xml")], call.protocol()
    inner = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if protocol == "ec2":
        text = f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>{REQUEST_ID}</RequestID></Response>"
    elif protocol == "query":
        text = f"<ErrorResponse><Error><Type>Sender</Type>{inner}</Error><RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
    elif protocol == "s3":
        text = f"<Error>{inner}<RequestId>{REQUEST_ID}</RequestId></Error>"
    else:
        kind = "application/x-amz-json-1.0" if protocol == "json" else "application/json"
        headers = [("Content-Type", kind), ("x-amzn-ErrorType", code)]
        return Answer(status, headers, json.dumps({"__type": code, "message": message}).encode(), code)
    return Answer(status, xml, text.encode(), code)


class Fault:
    """A rule by which calls are refused; the fields are those of the type Fault of the Go package testbed."""

    THROTTLED = {"ec2": (503, "RequestLimitExceeded", "Request limit exceeded."), "s3": (503, "SlowDown", "Please reduce your request rate."),
                 "query": (400, "Throttling", "Rate exceeded"), "json": (400, "ThrottlingException", "Rate exceeded"),
                 "rest": (429, "ThrottlingException", "Rate exceeded")}  # fmt: skip
    DENIED = {"ec2": (403, "UnauthorizedOperation"), "s3": (403, "AccessDenied"), "query": (403, "AccessDenied"),
              "json": (400, "AccessDeniedException"), "rest": (403, "AccessDeniedException")}  # fmt: skip

    def __init__(self, rule):
        known = {"service", "action", "accessKeyId", "page", "nth", "times", "kind", "code", "status", "message", "params"}
        if unknown := set(rule) - known:
            raise ValueError(f"a fault has no {sorted(unknown)}")
        if rule.get("kind") not in ("throttle", "denied", "custom"):
            raise ValueError(f"a fault's kind is throttle, denied or custom, not {rule.get('kind')!r}")
        self.rule, self.seen, self.used = rule, 0, 0

    def applies(self, call):
        rule = self.rule
        wanted = (("service", call.service), ("action", call.action), ("accessKeyId", call.key), ("page", call.page))
        if any(rule.get(k) and rule[k] != v for k, v in wanted):
            return False
        if not all(has_param(call.params, k, v) for k, v in rule.get("params", {}).items()):
            return False
        self.seen += 1
        if self.seen < rule.get("nth", 0) or (rule.get("times") and self.used >= rule["times"]):
            return False
        self.used += 1
        return True

    def answer(self, call):
        rule, protocol = self.rule, call.protocol()
        status, code, message = 400, "", "injected by the test"
        if rule["kind"] == "throttle":
            status, code, message = self.THROTTLED[protocol]
        elif rule["kind"] == "denied":
            status, code = self.DENIED[protocol]
            if call.service == "sns":
                code = "AuthorizationError"
            user, permission = STATE.identities.get(call.key, {}).get("arn", call.key), f"{call.service}:{call.action}"
            message = (
                f"User: {user} is not authorized to perform: {permission} "
                f"because no identity-based policy allows the {permission} action"
            )
            if protocol == "ec2":
                message = f"You are not authorized to perform this operation. {message}."
        return error(call, rule.get("status") or status, rule.get("code") or code, rule.get("message") or message)


def has_param(params, key, value):
    if key.endswith("*"):
        return any(k.startswith(key[:-1]) and v == value for k, v in params.items())
    return params.get(key) == value


class Handler(MotoRequestHandler):
    """Serves a connection for as long as its client keeps it; werkzeug's own closes it after each answer."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def run_wsgi(self):
        environ = self.make_environ()
        whole = -1 if environ.get("wsgi.input_terminated") else int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(whole)
        path = environ.get("PATH_INFO", "/")
        if path.startswith("/_rollcall/"):
            answer = control(environ["REQUEST_METHOD"], path.removeprefix("/_rollcall/"), body)
        else:
            answer = self.server.app.call(Call(environ, body))
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)


class Emulator:
    """What answers the calls: faults, its own answers, moto."""

    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)

    def call(self, call):
        record = call.record()
        invocation = call.environ.get("HTTP_AMZ_SDK_INVOCATION_ID", "")
        with STATE.lock:
            if known := STATE.answered.get(invocation):
                return known  # its connection broke; what the call does was done
            STATE.calls.append(record)
            spared = OPTIONS.exempt and call.key == OPTIONS.exempt
            fault = None if spared else next((f for f in STATE.faults if f.applies(call)), None)
        if fault:
            record["injected"] = True
            answer = fault.answer(call)
        else:
            if not spared:
                cap_page(call)
            answer = own_answer(call) or self.ask_moto(call)
        with STATE.lock:
            record["status"] = answer.status
            if answer.status >= 400:
                found = ERROR_CODE.search(answer.body)
                record["errorCode"] = answer.code or (found and (found[1] or found[2]).decode()) or ""
            elif token := NEXT_TOKEN.search(answer.body):
                STATE.pages[(token[1] or token[2]).decode()] = call.page + 1
            if answer.status < 400 and not fault and invocation:
                STATE.answered[invocation] = answer
                if len(STATE.answered) > 100:
                    del STATE.answered[next(iter(STATE.answered))]
        return answer

    def ask_moto(self, call):
        seen = {}

        def start_response(status, headers, exc_info=None):
            seen.update(status=int(status.split()[0]), headers=headers)

        REQUEST.managed = call.params.get("IncludeManagedResources", "").lower() == "true"
        call.environ.update({"wsgi.input": io.BytesIO(call.body), "CONTENT_LENGTH": str(len(call.body))})
        try:
            # moto undoes a transaction that fails by putting back the whole table as it was, with it whatever
            # another one wrote meanwhile. DynamoDB's transactions see nothing of each other. Between the look at
            # If-None-Match and the write, moto lets another PutObject in; S3 does not.
            stored = call.target.startswith("DynamoDB_") or call.service == "s3"
            with STORES if stored else contextlib.nullcontext():
                chunks = self.moto(call.environ, start_response)
                answer = Answer(seen["status"], seen["headers"], b"".join(chunks))
                if hasattr(chunks, "close"):
                    chunks.close()
        except Exception:
            traceback.print_exc()
            answer = Answer(500, [], traceback.format_exc().strip().splitlines()[-1].encode())
        html = any(k.lower() == "content-type" and "html" in v for k, v in answer.headers)
        if answer.status >= 500 or (answer.status >= 400 and html and not answer.body.lstrip().startswith(b"<?xml")):
            return self.unexpected(call, answer)
        return answer

    def unexpected(self, call, answer):
        """Records moto's failure and answers with one that an SDK reports at once rather than retries."""
        text = answer.body[:2000].decode(errors="replace")
        with STATE.lock:
            STATE.unexpected.append(
                {"time": now(), "service": call.service, "action": call.action, "status": answer.status, "body": text}
            )
        print(f"unexpected answer {answer.status} to {call.service} {call.action}: {text}", file=sys.stderr)
        return error(call, 400, "EmulatorFault", f"moto answered {answer.status}: {text[:200]}")


def cap_page(call):
    """Makes a listing of instances end its pages early."""
    cap = STATE.page_size
    if cap and call.action == "DescribeInstances" and not any(k.startswith("InstanceId.") for k in call.params):
        form = dict(parse_qsl(call.body.decode(), keep_blank_values=True))
        form["MaxResults"] = str(min(cap, int(form.get("MaxResults", cap))))
        call.body = urlencode(form).encode()


def own_answer(call):
    """The answer to a call that moto cannot make, or None."""
    if call.action == "GetCallerIdentity" and call.key in STATE.identities:
        me = STATE.identities[call.key]
        result = f"<Arn>{me['arn']}</Arn><UserId>{me['userId']}</UserId><Account>{ACCOUNT}</Account>"
        xml = (
            '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<GetCallerIdentityResult>{result}</GetCallerIdentityResult>"
            f"<ResponseMetadata><RequestId>{REQUEST_ID}</RequestId></ResponseMetadata></GetCallerIdentityResponse>"
        )
        return Answer(200, [("Content-Type", "text/xml")], xml.encode())
    path = re.fullmatch(r"/clusters/([^/]+)/access-entries(?:/(.+?))?(/access-policies)?", call.path)
    if call.service == "eks" and call.method in ("GET", "DELETE") and path:
        return access_entries(call, *path.groups())
    if call.service == "arc-zonal-shift" and call.action == "GetManagedResource":
        return managed_resource(call, call.params["resourceIdentifier"])
    if call.service == "autoscaling" and call.action == "DescribeScalingActivities":
        return scaling_activities(call)
    return None


def access_entries(call, name, principal, policies):
    """ListAccessEntries, or of one principal DescribeAccessEntry, ListAssociatedAccessPolicies or DeleteAccessEntry."""
    cluster = eks_backends[ACCOUNT][call.region].clusters.get(name)
    if cluster is None:
        return error(call, 404, "ResourceNotFoundException", f"No cluster found for name: {name}.")
    if getattr(cluster, "access_config", {}).get("authenticationMode") == "CONFIG_MAP":
        modes = "[API, API_AND_CONFIG_MAP]"
        text = f"The cluster's authentication mode must be set to one of {modes} to perform this operation."
        return error(call, 400, "InvalidRequestException", text)
    entries = STATE.access_entries.get(name, {})
    if principal is None:
        first, size = int(call.query.get("nextToken", 0)), int(call.query.get("maxResults", 100))
        page = {"accessEntries": list(entries)[first : first + size]}
        if first + size < len(entries):
            page["nextToken"] = str(first + size)
        return as_json(page)
    if principal not in entries:
        text = "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'."
        return error(call, 404, "ResourceNotFoundException", text)
    if call.method == "DELETE":
        del entries[principal]
        return as_json({})
    if policies:
        of = {"clusterName": name, "principalArn": principal}
        return as_json(dict(of, associatedAccessPolicies=STATE.access_policies.get((name, principal), [])))
    return as_json({"accessEntry": entries[principal]})


def managed_resource(call, arn):
    """GetManagedResource of ARC: a cluster is one if zonal shifts are enabled for it."""
    cluster = eks_backends[ACCOUNT][call.region].clusters.get(arn.rsplit("/", 1)[-1])
    if cluster is None or cluster.arn != arn or not getattr(cluster, "zonal_shift_config", {}).get("enabled"):
        return error(call, 404, "ResourceNotFoundException", f"The managed resource was not found: {arn}")
    shifts = STATE.shifts.get(cluster.name, [])
    manual = [s for s in shifts if "expiryTime" in s]
    automatic = [s for s in shifts if s not in manual]
    zones = [z.zone_id for z in RegionsAndZonesBackend.zones[call.region]]
    away = {s["awayFrom"] for s in shifts if s["appliedStatus"] == "APPLIED"}
    return as_json(
        {
            "arn": arn,
            "name": cluster.name,
            "appliedWeights": {zone: 0.0 if zone in away else 1.0 for zone in zones},
            "zonalShifts": [dict(s, resourceIdentifier=arn, shiftType="ZONAL_SHIFT") for s in manual],
            "autoshifts": automatic,
            "zonalAutoshiftStatus": "ENABLED" if automatic else "DISABLED",
        }
    )


def scaling_activities(call):
    """DescribeScalingActivities, which moto does not have: those that were chosen, the latest first."""
    group = call.params.get("AutoScalingGroupName", "")
    activities = STATE.activities.get(group, [])
    first, size = int(call.params.get("NextToken") or 0), min(int(call.params.get("MaxRecords") or 100), 100)
    members = ""
    for a in activities[first : first + size]:
        fields = dict(a, AutoScalingGroupName=group)
        members += "<member>" + "".join(f"<{k}>{escape(str(v))}</{k}>" for k, v in fields.items()) + "</member>"
    token = f"<NextToken>{first + size}</NextToken>" if first + size < len(activities) else ""
    xml = (
        '<DescribeScalingActivitiesResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">'
        f"<DescribeScalingActivitiesResult><Activities>{members}</Activities>{token}</DescribeScalingActivitiesResult>"
        f"<ResponseMetadata><RequestId>{REQUEST_ID}</RequestId></ResponseMetadata></DescribeScalingActivitiesResponse>"
    )
    return Answer(200, [("Content-Type", "text/xml")], xml.encode())


# The control API.


def control(method, path, body):
    for wanted, pattern, handler in ROUTES:
        if method == wanted and (found := re.fullmatch(pattern, path)):
            try:
                value = json.loads(body) if body else None
                with STATE.lock:
                    return as_json(handler(value, *found.groups()) or [])
            except Exception as e:  # whatever is wrong with the request is for the test that sent it
                traceback.print_exc()
                return as_json({"error": f"{type(e).__name__}: {e}"}, 400)
    return as_json({"error": f"no such control: {method} {path}"}, 404)


def reset(_):
    moto_api_backend.reset()
    STATE.empty()


def put_access_entries(entries, name):
    created = datetime.now(timezone.utc).timestamp()
    for e in entries:
        STATE.access_policies[name, e["principalArn"]] = [
            {"policyArn": p, "accessScope": {"type": "cluster"}, "associatedAt": created, "modifiedAt": created}
            for p in e.get("policies") or []
        ]
    STATE.access_entries[name] = {
        e["principalArn"]: {
            "clusterName": name,
            "principalArn": e["principalArn"],
            "type": e.get("type") or "STANDARD",
            "username": e.get("username") or e["principalArn"],
            "kubernetesGroups": e.get("kubernetesGroups") or [],
            "accessEntryArn": f"arn:aws:eks:{DEFAULT_REGION}:{ACCOUNT}:access-entry/{name}/role/{ACCOUNT}/{e['principalArn'].rsplit('/', 1)[-1]}/00000000",
            "createdAt": created,
            "modifiedAt": created,
            "tags": e.get("tags") or {},
        }
        for e in entries
    }


def post_foundation(wanted):
    """Makes what an EKS cluster stands on, and nothing with which nodes could not join it:

    a VPC with a private subnet in each zone and a NAT gateway in a public one, the security group that EKS makes for a
    cluster, and a role with an instance profile for its nodes. Answers with their ids.
    """
    backend, name = ec2_backends[ACCOUNT][DEFAULT_REGION], wanted["cluster"]
    vpc = backend.create_vpc("10.0.0.0/16")
    backend.modify_vpc_attribute(vpc.id, "enable_dns_hostnames", True)
    options = backend.create_dhcp_options(
        domain_name_servers=["AmazonProvidedDNS"], domain_name=f"{DEFAULT_REGION}.compute.internal"
    )
    backend.associate_dhcp_options(options, vpc)
    zones = [z.name for z in RegionsAndZonesBackend.zones[DEFAULT_REGION]][:3]
    cidrs = {z: f"10.0.{n * 64}.0/18" for n, z in enumerate(zones)}
    private = {z: backend.create_subnet(vpc.id, cidr, availability_zone=z) for z, cidr in cidrs.items()}
    public = backend.create_subnet(vpc.id, "10.0.192.0/18", availability_zone=zones[0])
    gateway = backend.create_internet_gateway()
    backend.attach_internet_gateway(gateway.id, vpc.id)
    nat = backend.create_nat_gateway(public.id, backend.allocate_address("vpc").allocation_id)
    tables = {}
    for kind, subnets in (("public", [public]), ("private", private.values())):
        tables[kind] = backend.create_route_table(vpc.id)
        for subnet in subnets:
            backend.associate_route_table(tables[kind].id, subnet_id=subnet.id)
    backend.create_route(tables["public"].id, "0.0.0.0/0", gateway_id=gateway.id)
    backend.create_route(tables["private"].id, "0.0.0.0/0", nat_gateway_id=nat.id)
    group = backend.create_security_group(
        f"eks-cluster-sg-{name}-1", "EKS created security group", vpc.id, {f"kubernetes.io/cluster/{name}": "owned"}
    )
    backend.authorize_security_group_ingress(group.id, "-1", None, None, [], source_groups=[{"GroupId": group.id}])
    return {
        "vpcId": vpc.id,
        "subnets": {zone: subnet.id for zone, subnet in private.items()},
        "routeTable": tables["private"].id,
        "securityGroup": group.id,
        "profile": make_node_profile(wanted["role"]),
    }


def make_node_profile(role):
    """Makes a role for nodes and an instance profile of the same name, and answers with the profile's ARN."""
    backend = iam_backends[ACCOUNT]["aws"]
    trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    backend.create_role(role, json.dumps({"Version": "2012-10-17", "Statement": [trust]}), "/", None, "", [], "3600")
    for policy in NODE_POLICIES:
        backend.attach_role_policy(f"arn:aws:iam::aws:policy/{policy}", role)
    profile = backend.create_instance_profile(role, "/", [])
    backend.add_role_to_instance_profile(role, role)
    return profile.arn


def put_cluster(change, name):
    cluster = eks_backends[ACCOUNT][DEFAULT_REGION].clusters[name]
    for key in ("endpoint", "status", "version", "tags"):
        if key in change:
            setattr(cluster, key, change[key])
    if "ca" in change:
        cluster.certificate_authority = {"data": change["ca"]}
    if "createdAt" in change:
        cluster.created_at = moto_time(change["createdAt"])
    if "authenticationMode" in change:
        cluster.access_config = {"authenticationMode": change["authenticationMode"]}
    if "network" in change:
        cluster.resources_vpc_config = dict(cluster.resources_vpc_config, **change["network"])
    if "zonalShift" in change:
        cluster.zonal_shift_config = {"enabled": change["zonalShift"]}


def delete_cluster(_, name):
    del eks_backends[ACCOUNT][DEFAULT_REGION].clusters[name]


def put_shifts(shifts, name):
    """A zonal shift has appliedStatus, awayFrom, startTime and expiryTime, an autoshift no expiryTime."""
    for s in shifts:
        for key in ("startTime", "expiryTime"):
            if key in s:
                s[key] = datetime.fromisoformat(s[key].replace("Z", "+00:00")).timestamp()
        if "expiryTime" in s:
            s |= {"zonalShiftId": "00000000-0000-0000-0000-000000000000", "comment": "chosen by the test"}
    STATE.shifts[name] = shifts


def put_node_group(change, name, group):
    cluster = eks_backends[ACCOUNT][DEFAULT_REGION].clusters[name]
    if group not in cluster.nodegroups:
        role = f"arn:aws:iam::{ACCOUNT}:role/{name}-node"
        cluster.nodegroups[group] = made = Nodegroup(name, role, group, [], ACCOUNT, DEFAULT_REGION, "aws")
        made.resources["autoScalingGroups"] = [{"name": "eks-" + group}]  # as the tests name them
    if "nodeRepair" in change:
        cluster.nodegroups[group].node_repair_config = {"enabled": change["nodeRepair"]}
    if "status" in change:
        cluster.nodegroups[group].status = change["status"]
    if "issues" in change:
        cluster.nodegroups[group].health = {"issues": change["issues"]}


def put_instance(change, instance_id):
    """Changes what EC2 says of an instance, without the effects of doing it through EC2:

    launchTime, state, instanceStatus, systemStatus, attachedEbsStatus, impairedSince, events (scheduled ones), console,
    managed (by EKS Auto Mode), platform and purchase (InstanceLifecycle), as EC2 calls them; ownerId, the account in whose reservation it is; hidden, "listing"
    if only listings lack it and "everywhere" if look-ups by its id do too; lifecycle, its state in its Auto Scaling
    group; onReboot, the change that a reboot makes.
    """
    backend = ec2_backends[ACCOUNT][DEFAULT_REGION]
    instance = backend.get_instance(instance_id)
    if "launchTime" in change:
        instance.launch_time = moto_time(change["launchTime"])
    if "state" in change:
        instance._state = InstanceState(change["state"], STATE_CODES[change["state"]])
    if "ownerId" in change:
        next(r for r in backend.reservations.values() if instance in r.instances).owner_id = change["ownerId"]
    if "platform" in change:
        instance.platform = change["platform"]
    if "purchase" in change:
        instance.instance_lifecycle = change["purchase"]
    if "lifecycle" in change:
        membership(instance_id).lifecycle_state = change["lifecycle"]
    for key in STATED:
        if key in change:
            setattr(instance, "rollcall_" + key, change[key])


def delete_instance(_, instance_id):
    for reservation in ec2_backends[ACCOUNT][DEFAULT_REGION].reservations.values():
        reservation.instances = [i for i in reservation.instances if i.id != instance_id]


def membership(instance_id):
    """The instance in its Auto Scaling group."""
    groups = autoscaling_backends[ACCOUNT][DEFAULT_REGION].autoscaling_groups.values()
    return next(m for g in groups for m in g.instance_states if m.instance.id == instance_id)


def put_group(change, name):
    """suspended are names of processes; activities, the latest first, have the fields of Auto Scaling's Activity.

    desired is the capacity alone, for which nothing is launched; tags, by their keys, replace those that there are."""
    if "suspended" in change or "desired" in change or "tags" in change:
        group = autoscaling_backends[ACCOUNT][DEFAULT_REGION].autoscaling_groups[name]
        group.suspended_processes = change.get("suspended", group.suspended_processes)
        group.desired_capacity = change.get("desired", group.desired_capacity)
        if "tags" in change:
            group.tags = [
                {"Key": k, "Value": v, "PropagateAtLaunch": False, "ResourceId": name, "ResourceType": "auto-scaling-group"}
                for k, v in change["tags"].items()
            ]
    if "activities" in change:
        STATE.activities[name] = change["activities"]


def moto_time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc).replace(tzinfo=None)


def post_event(event):
    region = DEFAULT_REGION
    said = {"instance-action": "terminate"} if "announced" in event else {"state": event["state"]}
    entry = {
        "Source": "aws.ec2",
        "DetailType": event.get("announced", "EC2 Instance State-change Notification"),
        "Resources": [f"arn:aws:ec2:{region}:{ACCOUNT}:instance/{event['instance']}"],
        "Detail": json.dumps({"instance-id": event["instance"]} | said),
    }
    return events_backends[ACCOUNT][region].put_events([entry])


def get_holdings(_):
    """What a deployment of Rollcall makes or marks in the account, each as its kind and name; whose it is does not matter."""

    def of(backends):
        return backends[ACCOUNT][DEFAULT_REGION]

    named = {
        "stack": [s.name for s in of(cloudformation_backends).stacks.values()],
        "table": of(dynamodb_backends).tables,
        "bucket": s3_backends[ACCOUNT]["aws"].buckets,
        "queue": of(sqs_backends).queues,
        "topic": of(sns_backends).topics,
        "parameter": [n for n, versions in of(ssm_backends)._parameters.items() if versions and not n.startswith("/aws/")],
        "log group": of(logs_backends).groups,
        "rule": [r for bus in of(events_backends).event_buses.values() for r in bus.rules],
        "schedule group": of(scheduler_backends).schedule_groups,
        "role": [r.name for r in iam_backends[ACCOUNT]["aws"].roles.values()],
        "access entry": [p for entries in STATE.access_entries.values() for p in entries],
        "tag": [
            f"{i.id} {key}"
            for i in of(ec2_backends).all_instances()
            for key in of(ec2_backends).tags.get(i.id, {})
            if key.startswith("rollcall:") and i.state != "terminated"
        ],
    }
    return sorted(f"{kind} {name}" for kind, names in named.items() for name in names)


ROUTES = [
    ("GET", "health", lambda _: []),
    ("POST", "reset", reset),
    ("PUT", "identities", lambda known: STATE.identities.update(known)),
    ("GET", "calls", lambda _: STATE.calls),
    ("DELETE", "calls", lambda _: STATE.calls.clear()),
    ("GET", "unexpected", lambda _: STATE.unexpected),
    ("GET", "holdings", get_holdings),
    ("POST", "faults", lambda rule: STATE.faults.append(Fault(rule))),
    ("DELETE", "faults", lambda _: STATE.faults.clear()),
    ("PUT", "page-size", lambda v: setattr(STATE, "page_size", v["size"])),
    ("POST", "foundation", post_foundation),
    ("PUT", "clusters/([^/]+)", put_cluster),
    ("DELETE", "clusters/([^/]+)", delete_cluster),
    ("PUT", "clusters/([^/]+)/access-entries", put_access_entries),
    ("PUT", "clusters/([^/]+)/nodegroups/([^/]+)", put_node_group),
    ("PUT", "clusters/([^/]+)/shifts", put_shifts),
    ("PUT", "instances/(i-[0-9a-f]+)", put_instance),
    ("DELETE", "instances/(i-[0-9a-f]+)", delete_instance),
    ("PUT", "groups/([^/]+)", put_group),
    ("POST", "events", post_event),
]


# What is changed inside moto.


def is_managed(instance):
    chosen = getattr(instance, "rollcall_managed", None)
    return chosen if chosen is not None else AUTO_MODE_TAG in instance.ec2_backend.tags.get(instance.id, {})


def operator(instance):
    if is_managed(instance):
        return {"Managed": True, "Principal": "eks.amazonaws.com", "HiddenByDefault": True}
    return {"Managed": False}


def visible(instance):
    return getattr(REQUEST, "managed", True) or not is_managed(instance)


def hidden(instance, *places):
    return getattr(instance, "rollcall_hidden", "") in places


def listed(instance):
    return visible(instance) and not hidden(instance, "listing", "everywhere")


def show(reservations, wanted):
    """Leaves instances out of reservations, which are copies of moto's own."""
    for r in reservations:
        r.instances = [i for i in r.instances if wanted(i)]
    return [r for r in reservations if r.instances]


def list_reservations(usual):
    return lambda *args, **kwargs: show(usual(*args, **kwargs), listed)


def look_up_reservations(usual):
    def look_up(*args, **kwargs):
        reservations = usual(*args, **kwargs)
        if unknown := [i.id for r in reservations for i in r.instances if hidden(i, "everywhere")]:
            raise InvalidInstanceIdError(unknown)
        return show(reservations, visible)

    return look_up


def asked(value, wanted):
    """Whether a value, or one of several, is among those that a filter wants."""
    return any(v in wanted for v in (value if isinstance(value, list) else [value]))


def describe_instance_status(response):
    """Status checks of running instances, or of all; moto neither filters nor pages them."""
    backend, ids = response.ec2_backend, response._get_param("InstanceIds", [])
    instances = backend.get_multi_instances_by_id(ids) if ids else backend.all_instances()
    instances = [i for i in instances if (visible(i) if ids else listed(i))]
    if not response._get_bool_param("IncludeAllInstances", False):
        instances = [i for i in instances if i.state == "running"]
    for name, values in response._filters_from_querystring().items():
        if name not in STATUS_FILTERS:
            raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
        instances = [i for i in instances if asked(STATUS_FILTERS[name](i), values)]
    first, size = int(response._get_param("NextToken") or 0), int(response._get_param("MaxResults") or 1000)
    token = str(first + size) if first + size < len(instances) else None
    return ActionResult({"InstanceStatuses": instances[first : first + size], "NextToken": token})


def status_check(attribute, usual):
    def check(instance):
        chosen = getattr(instance, attribute, None)
        if chosen is None or instance.state_code != STATE_CODES["running"]:
            return usual.fget(instance)
        return status_of(instance, chosen)

    return property(check)


def status_of(instance, chosen):
    detail = {"Name": "reachability", "Status": CHECK_DETAILS.get(chosen, chosen)}
    since = getattr(instance, "rollcall_impairedSince", None)
    if chosen == "impaired" and since:
        detail["ImpairedSince"] = moto_time(since)
    return {"Status": chosen, "Details": [detail]}


def attached_ebs_status(instance):
    chosen = getattr(instance, "rollcall_attachedEbsStatus", None) or "ok"
    if instance.state_code != STATE_CODES["running"]:
        return {"Status": "not-applicable"}
    return status_of(instance, chosen)


def events(instance):
    """Scheduled events, as DescribeInstanceStatus lists them."""
    return [
        e | {k: moto_time(e[k]) for k in ("NotBefore", "NotAfter") if k in e}
        for e in getattr(instance, "rollcall_events", None) or []
    ]


def reboot(usual):
    def checked(instance):
        if instance.state == "terminated":
            return  # EC2 ignores it
        if instance.state != "running":
            text = f"The instance '{instance.id}' is not in a state from which it can be rebooted."
            raise EC2ClientError("IncorrectInstanceState", text)
        usual(instance)
        put_instance(getattr(instance, "rollcall_onReboot", {}), instance.id)

    return checked


def zone_id(placement):
    zones = RegionsAndZonesBackend.zones[placement.zone[:-1]]
    return next(z.zone_id for z in zones if z.name == placement.zone)


def console_output(response):
    """The console text that was chosen, or none: EC2 has none either until a while after the boot."""
    instance = response.ec2_backend.get_instance(response._get_param("InstanceId"))
    answer = {"InstanceId": instance.id, "Timestamp": instance.launch_time}
    if text := getattr(instance, "rollcall_console", None):
        answer["Output"] = Base64EncodedString.from_raw_string(text)
    return ActionResult(answer)


def remembered(usual):
    """The names under which moto looks for a field hang on the types alone; to find them out takes most of its time."""
    known = {}

    def possible_keys(picker, context):
        at = type(context.obj), context.key, context.shape
        if at not in known:
            known[at] = list(usual(picker, context))
        return known[at]

    return possible_keys


def node_policies():
    """Only the managed policies of nodes' roles: moto has all of them or none, and all take seconds of every reset."""
    known = {name: p for name, p in json.loads(aws_managed_policies_data).items() if name in NODE_POLICIES}
    return lambda iam: [AWSManagedPolicy.from_data(n, iam.account_id, iam.region_name, p) for n, p in known.items()]


def patch_moto():
    for_host = DomainDispatcherApplication.get_backend_for_host  # it looks into moto's folder at each call
    DomainDispatcherApplication.get_backend_for_host = functools.cache(for_host)
    responses.method_names_from_class = functools.cache(responses.method_names_from_class)
    IAMBackend._init_aws_policies = node_policies()
    image_models.AMIS.append(NODE_IMAGE)
    XFormedAttributePicker.get_possible_keys = remembered(XFormedAttributePicker.get_possible_keys)
    image_models.load_resource = lambda _: []  # 1,250 images beside the basic ones: half a second of every reset
    instance_models.random_instance_id = lambda: f"i-{next(STATE.ids):017x}"
    EventTemplateParser.DEFAULT_EVENT_INPUT_TEMPLATE = EVENT_TEMPLATE
    InstanceBackend.describe_instances = list_reservations(InstanceBackend.describe_instances)
    InstanceBackend.get_reservations_by_instance_ids = look_up_reservations(
        InstanceBackend.get_reservations_by_instance_ids
    )
    InstanceResponse.describe_instance_status = describe_instance_status
    InstancePlacement.availability_zone_id = property(zone_id)
    Instance.operator = property(operator)
    Instance.instance_status = status_check("rollcall_instanceStatus", Instance.instance_status)
    Instance.system_status = status_check("rollcall_systemStatus", Instance.system_status)
    Instance.attached_ebs_status = property(attached_ebs_status)
    Instance.events = property(events)
    Instance.reboot = reboot(Instance.reboot)
    General.get_console_output = console_output


def main():
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: sys.exit(0))
    patch_moto()
    run_simple("127.0.0.1", OPTIONS.port, Emulator(), threaded=True, request_handler=Handler)


if __name__ == "__main__":
    main()
