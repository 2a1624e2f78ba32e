"""An API server that speaks Kubernetes' lists and watches, and misbehaves when it is told to.

It keeps objects and a history of what became of them. A watch goes on behind a resourceVersion; behind one that was compacted it is 410 Gone.
"""

import copy
import http.server
import json
import random
import threading
import time
import urllib.parse
import uuid

#: Path of a kind's collection, its kind and its apiVersion.
COLLECTIONS = {
    "/api/v1/namespaces": ("Namespace", "v1"),
    "/api/v1/nodes": ("Node", "v1"),
    "/api/v1/pods": ("Pod", "v1"),
    "/api/v1/services": ("Service", "v1"),
    "/apis/discovery.k8s.io/v1/endpointslices": ("EndpointSlice", "discovery.k8s.io/v1"),
    "/apis/networking.k8s.io/v1/networkpolicies": ("NetworkPolicy", "networking.k8s.io/v1"),
}
BOOKMARK_PAUSE = 1.0


class KubeApi:
    """Starts on a free port of 127.0.0.1."""

    def __init__(self, port=0):
        self.changed = threading.Condition()
        self.objects = {kind: {} for kind, _ in COLLECTIONS.values()}
        self.history = []
        self.version = 100
        self.compacted = 0
        self.epoch = 0
        self.is_open = True
        #: Answers that are errors before one is right again; what becomes of events on their way; the list of some time ago.
        self.failures, self.twice, self.shuffled, self.stale = 0, False, False, None
        self.lists, self.watches, self.gone = 0, 0, 0
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                api.answer(self)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that hangs up is none of our errors

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.cut()
        self.is_open = False
        self.server.shutdown()
        self.server.server_close()

    # -- the cluster

    def put(self, kind, name, namespace=None, **more):
        """Makes or replaces an object; what is not said of its metadata stays."""
        with self.changed:
            key = (namespace, name)
            before = self.objects[kind].get(key)
            one = copy.deepcopy(more)
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
            return meta["uid"]

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

    # -- HTTP

    def answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        found = COLLECTIONS.get(url.path)
        with self.changed:
            if self.failures > 0:
                self.failures -= 1
                return self.say(request, 503, self.status(503, "ServiceUnavailable", "as the test wants it"))
        if found is None:
            return self.say(request, 404, self.status(404, "NotFound", url.path))
        kind, version = found
        if query.get("watch") in ("true", "1"):
            return self.watch(request, kind, version, int(query.get("resourceVersion") or 0), float(query.get("timeoutSeconds") or 300))
        with self.changed:
            self.lists += 1
            items, at = self.stale[kind] if self.stale else (list(self.objects[kind].values()), self.version)
            body = {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": str(at)}, "items": copy.deepcopy(items)}
        self.say(request, 200, body)

    def remember_lists(self):
        """Lists are those of now from here on, until `stale` is taken back."""
        with self.changed:
            self.stale = {kind: (copy.deepcopy(list(objects.values())), self.version) for kind, objects in self.objects.items()}

    @staticmethod
    def status(code, reason, message):
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message}

    @staticmethod
    def say(request, code, body):
        data = json.dumps(body).encode()
        request.send_response(code)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def watch(self, request, kind, version, behind, patience):
        with self.changed:
            self.watches += 1
            epoch, compacted = self.epoch, self.compacted
            self.gone += behind < compacted
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
                if not self.changed.wait_for(lambda: self.epoch != epoch or self.version > behind, BOOKMARK_PAUSE):
                    news = [("BOOKMARK", {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": str(behind)}})]
                elif self.epoch != epoch:
                    break
                else:
                    news = [(what, {**one, "kind": kind, "apiVersion": version}) for at, of, what, one in self.history if at > behind and of == kind]
                    behind = self.version
                if self.twice:
                    news = [event for event in news for _ in range(2)]
                if self.shuffled:
                    random.shuffle(news)
            for what, one in news:
                line = json.dumps({"type": what, "object": one}).encode() + b"\n"
                request.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            request.wfile.flush()
        # Without the last chunk: as if the way had been cut.
        request.close_connection = True
