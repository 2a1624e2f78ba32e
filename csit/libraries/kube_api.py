"""An API server that speaks Kubernetes' lists, watches and writes, and misbehaves when it is told to.

It keeps objects and a history of what became of them. A watch goes on behind a resourceVersion; behind one that was compacted it is 410 Gone. Writes
are what an API server makes of them as far as clients here ask for it: POST, PUT with the resourceVersion that was read, and merge patches of pods.
"""

import copy
import http.server
import json
import random
import ssl
import subprocess
import threading
import time
import urllib.parse
import uuid

#: Group and version of a resource, its name, and the kind of its objects.
RESOURCES = {
    ("v1", "namespaces"): "Namespace",
    ("v1", "nodes"): "Node",
    ("v1", "pods"): "Pod",
    ("v1", "services"): "Service",
    ("v1", "endpoints"): "Endpoints",
    ("discovery.k8s.io/v1", "endpointslices"): "EndpointSlice",
    ("networking.k8s.io/v1", "networkpolicies"): "NetworkPolicy",
    ("coordination.k8s.io/v1", "leases"): "Lease",
    ("events.k8s.io/v1", "events"): "Event",
}
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
BOOKMARK_PAUSE = 1.0


class Asked:
    """A request for a resource: `/api/v1/…` or `/apis/GROUP/v1/…`, of all namespaces or of one."""

    def __init__(self, method, target):
        url = urllib.parse.urlsplit(target)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        parts = [urllib.parse.unquote(part) for part in url.path.strip("/").split("/")]
        self.version, rest = (parts[1], parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
        self.namespace = rest[1] if len(rest) > 2 and rest[0] == "namespaces" else None
        rest = rest[2:] if self.namespace else rest
        self.resource, self.name, self.below = (rest + [None, None, None])[:3]
        self.kind = RESOURCES.get((self.version, self.resource))
        self.is_watch = self.query.get("watch") in ("true", "1")
        reads = "watch" if self.is_watch else "get" if self.name else "list"
        self.verb = VERBS.get(method, reads)

    def right(self):
        """As a role names it: group, resource, verb."""
        group = self.version.rpartition("/")[0]
        return group, "/".join(filter(None, (self.resource, self.below))), self.verb


class KubeApi:
    """Starts on a free port of 127.0.0.1."""

    def __init__(self, port=0):
        self.changed = threading.Condition()
        self.objects = {kind: {} for kind in RESOURCES.values()}
        #: What was asked for, as roles name it; what no account here may do.
        self.asked, self.forbidden = set(), set()
        self.history = []
        self.version = 100
        self.compacted = 0
        self.epoch = 0
        self.is_open = True
        #: Answers that are errors before one is right again; what becomes of events on their way; the list of some time ago.
        self.failures, self.twice, self.shuffled, self.stale = 0, False, False, None
        #: Answers that say to come back later, and whether all that is said comes in pieces.
        self.throttled, self.is_slow = 0, False
        #: Nothing that is asked or watched while this is so is ever answered, nor is the way closed: as if a firewall had forgotten it.
        self.is_dumb = False
        #: Watches end as soon as they have told what is new; how many were asked for.
        self.is_brief, self.watches = False, 0
        #: What came as Authorization by TLS.
        self.shown, self.secure = set(), None
        self.gone = 0
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                api.answer(self)

            do_POST = do_PUT = do_PATCH = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that hangs up is none of our errors

        self.make_server = lambda at: Server(("127.0.0.1", at), Handler)
        self.serve(port)
        self.port = self.server.server_address[1]

    def serve(self, port):
        self.server = self.make_server(port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve_tls(self, folder):
        """The same by TLS, on a port of its own; who is to believe it finds `ca.crt` in the folder. Returns the port."""
        if self.secure is None:
            names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
            command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, "-keyout", f"{folder}/key.pem", "-out", f"{folder}/ca.crt"]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{folder}/ca.crt", f"{folder}/key.pem")
            self.secure = self.make_server(0)
            self.secure.socket = context.wrap_socket(self.secure.socket, server_side=True)
            threading.Thread(target=self.secure.serve_forever, daemon=True).start()
        return self.secure.server_address[1]

    def leave(self):
        """Ends the server and all that it was saying; the cluster stays."""
        self.cut()
        self.server.shutdown()
        self.server.server_close()

    def close(self):
        self.leave()
        if self.secure is not None:
            self.secure.shutdown()
            self.secure.server_close()
        self.is_open = False

    def restart(self, away):
        """Is away for so many seconds."""
        self.leave()
        time.sleep(away)
        self.serve(self.port)

    # -- the cluster

    def put(self, kind, name, namespace=None, **more):
        """Makes or replaces an object; what is not said of its metadata stays."""
        with self.changed:
            before = self.objects[kind].get((namespace, name))
            one = copy.deepcopy(more)
            meta = one.setdefault("metadata", {})
            if before and "annotations" in before["metadata"]:
                meta.setdefault("annotations", copy.deepcopy(before["metadata"]["annotations"]))
            if before and "conditions" in before.get("status", {}):
                one["status"].setdefault("conditions", copy.deepcopy(before["status"]["conditions"]))
            return self.keep(kind, name, namespace, one)["metadata"]["uid"]

    def keep(self, kind, name, namespace, one):
        """Makes or replaces an object as it is given; tells those who watch."""
        with self.changed:
            key = (namespace, name)
            before = self.objects[kind].get(key)
            meta = one.setdefault("metadata", {})
            meta["name"] = name
            if namespace:
                meta["namespace"] = namespace
            meta["uid"] = before["metadata"]["uid"] if before else str(uuid.uuid4())
            self.version += 1
            meta["resourceVersion"] = str(self.version)
            self.objects[kind][key] = one
            self.history.append((self.version, kind, "MODIFIED" if before else "ADDED", copy.deepcopy(one)))
            self.changed.notify_all()
            return one

    def delete(self, kind, name, namespace=None):
        with self.changed:
            one = self.objects[kind].pop((namespace, name))
            self.version += 1
            one["metadata"]["resourceVersion"] = str(self.version)
            self.history.append((self.version, kind, "DELETED", one))
            self.changed.notify_all()

    # -- misbehaviour

    def cut(self):
        """Ends all watches."""
        with self.changed:
            self.epoch += 1
            self.changed.notify_all()

    def compact(self):
        """Forgets the history: whoever was away has to list again."""
        with self.changed:
            self.compacted, self.history = self.version, []

    def restore(self):
        """Is what it was some time ago: what comes has versions that were given before."""
        with self.changed:
            self.version -= 50
            self.compacted, self.history = self.version, []
            for objects in self.objects.values():
                for one in objects.values():
                    one["metadata"]["resourceVersion"] = str(min(self.version, int(one["metadata"]["resourceVersion"])))
            self.cut()

    # -- HTTP

    def answer(self, request):
        length = int(request.headers.get("Content-Length") or 0)
        body = json.loads(request.rfile.read(length)) if length else None
        asked = Asked(request.command, request.path)
        if isinstance(request.connection, ssl.SSLSocket):
            self.shown.add(request.headers.get("Authorization"))
        if self.is_dumb:
            return self.swallow()
        with self.changed:
            if self.failures > 0:
                self.failures -= 1
                return self.say(request, 503, self.status(503, "ServiceUnavailable", "as the test wants it"))
            if self.throttled > 0:
                self.throttled -= 1
                return self.say(request, 429, self.status(429, "TooManyRequests", "as the test wants it"), {"Retry-After": "1"})
            self.asked.add(asked.right())
            if asked.right() in self.forbidden:
                return self.say(request, 403, self.status(403, "Forbidden", "as the test wants it"))
        if asked.kind is None:
            return self.say(request, 404, self.status(404, "NotFound", request.path))
        if asked.is_watch:
            behind, patience = int(asked.query.get("resourceVersion") or 0), float(asked.query.get("timeoutSeconds") or 300)
            return self.watch(request, asked.kind, asked.version, behind, patience)
        if asked.verb == "list":
            with self.changed:
                items, at = self.stale[asked.kind] if self.stale else (list(self.objects[asked.kind].values()), self.version)
                listed = {"kind": f"{asked.kind}List", "apiVersion": asked.version, "metadata": {"resourceVersion": str(at)}, "items": copy.deepcopy(items)}
            return self.say(request, 200, listed)
        with self.changed:
            code, one = self.one(asked, body, request.headers.get("Content-Type", ""))
            one = copy.deepcopy(one)
        self.say(request, code, one if one.get("kind") == "Status" else {**one, "kind": asked.kind, "apiVersion": asked.version})

    def swallow(self):
        """Says nothing more on this way."""
        while self.is_open:
            time.sleep(0.2)

    def one(self, asked, body, how):
        """What becomes of a request for one object: status and answer."""
        objects = self.objects[asked.kind]
        name = asked.name or body["metadata"]["name"]
        before = objects.get((asked.namespace, name))
        if asked.verb == "create":
            if before is not None:
                return 409, self.status(409, "AlreadyExists", f"{name} is there already")
            return 201, self.keep(asked.kind, name, asked.namespace, body)
        if before is None:
            return 404, self.status(404, "NotFound", f"there is no {name}")
        if asked.verb == "get":
            return 200, before
        # Preconditions: what is said of these must be as it is.
        for field in ("uid", "resourceVersion"):
            said = (body.get("metadata") or {}).get(field)
            if said not in (None, before["metadata"][field]):
                return 409, self.status(409, "Conflict", f"{field} of {name} is {before['metadata'][field]}, not {said}")
        if asked.verb == "patch":
            part = body if asked.below is None else {"status": body.get("status", {})}
            body = merged(copy.deepcopy(before), part, is_strategic="strategic" in how)
        return 200, self.keep(asked.kind, name, asked.namespace, body)

    def remember_lists(self):
        """Lists are those of now from here on, until `stale` is taken back."""
        with self.changed:
            self.stale = {kind: (copy.deepcopy(list(objects.values())), self.version) for kind, objects in self.objects.items()}

    @staticmethod
    def status(code, reason, message):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message}

    @staticmethod
    def say(request, code, body, headers=None):
        data = json.dumps(body).encode()
        request.send_response(code)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def watch(self, request, kind, version, behind, patience):
        with self.changed:
            epoch, compacted = self.epoch, self.compacted
            self.watches += 1
            self.gone += behind < compacted
            is_ahead = behind > self.version
        if is_ahead:
            ahead = self.status(504, "Timeout", f"Too large resource version: {behind}, current: {self.version}")
            ahead["details"] = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1}
            return self.say(request, 504, ahead)
        expired = self.status(410, "Expired", "too old resource version")
        if behind < compacted and self.gone % 2:
            return self.say(request, 410, expired)
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        if behind < compacted:
            # The other way to say it: as the only event of a watch.
            line = json.dumps({"type": "ERROR", "object": expired}).encode() + b"\n"
            request.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(line), line))
            return None
        end = time.monotonic() + patience
        while time.monotonic() < end:
            with self.changed:
                is_news = self.changed.wait_for(lambda: self.is_dumb or self.epoch != epoch or self.version > behind, 0 if self.is_brief else BOOKMARK_PAUSE)
                if self.is_dumb:
                    news = None
                elif not is_news:
                    news = [("BOOKMARK", {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": str(behind)}})]
                elif self.epoch != epoch:
                    break
                else:
                    news = [(what, {**one, "kind": kind, "apiVersion": version}) for at, of, what, one in self.history if at > behind and of == kind]
                    behind = self.version
                if news and self.twice:
                    news = [event for event in news for _ in range(2)]
                if news and self.shuffled:
                    random.shuffle(news)
            if news is None:
                return self.swallow()
            for what, one in news:
                line = json.dumps({"type": what, "object": one}).encode() + b"\n"
                half = len(line) // 2
                for piece in (line[:half], line[half:]) if self.is_slow else (line,):
                    request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    if self.is_slow:
                        request.wfile.flush()
                        time.sleep(0.05)
            request.wfile.flush()
            if self.is_brief:
                break
        # Without the last chunk: as if the way had been cut.
        request.close_connection = True


def merged(into, patch, is_strategic):
    """A merge patch (RFC 7396); a strategic one merges conditions by their type."""
    for name, value in patch.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict):
            into[name] = merged(into.get(name) or {}, value, is_strategic)
        elif is_strategic and name == "conditions":
            types = [one["type"] for one in value]
            into[name] = [one for one in into.get(name, []) if one["type"] not in types] + value
        else:
            into[name] = value
    return into
