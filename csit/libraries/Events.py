"""Robot keywords that read server-sent events (the standard of the WHATWG, section 9.2), each with a deadline."""

import queue
import threading

import requests
from robot.api.deco import keyword, library

DEADLINE = 20
# What comes at all comes at once; so long nothing has to come to say that nothing does.
QUIET = 1


class Reader:
    """Reads a stream in the background; an event is a dict of its fields."""

    def __init__(self, url, user, password, last):
        headers = {"Accept": "text/event-stream"}
        if last:
            headers["Last-Event-ID"] = last
        self.response = requests.get(url, auth=(user, password), headers=headers, stream=True, timeout=DEADLINE)
        assert self.response.status_code == 200, f"{self.response.status_code} {self.response.text}"
        self.events = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        event = {}
        try:
            for line in self.response.iter_lines(chunk_size=1, decode_unicode=True):
                if not line:
                    if "data" in event:
                        self.events.put(event)
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(":")
                    value = value.removeprefix(" ")
                    event[name] = f"{event[name]}\n{value}" if name in event else value
        except (requests.RequestException, ValueError, AttributeError):
            pass  # the reader was closed

    def close(self):
        # It waits for the line that is being read, which is the next sign of life.
        threading.Thread(target=self.response.close, daemon=True).start()


@library(scope="TEST", auto_keywords=False)
class Events:
    def __init__(self):
        self.readers = []

    @keyword
    def open_event_stream(self, url, user, password, last=""):
        reader = Reader(url, user, password, last)
        self.readers.append(reader)
        return reader

    @keyword
    def next_event(self, reader, text):
        """The next event that has the text in it; others are passed over."""
        seen = []
        while True:
            try:
                event = reader.events.get(timeout=DEADLINE)
            except queue.Empty:
                raise AssertionError(f"no event with {text!r} within {DEADLINE} s; there were {seen}") from None
            if text in event["data"]:
                return event
            seen.append(event["data"])

    @keyword
    def nothing_should_have_come(self, reader):
        try:
            event = reader.events.get(timeout=QUIET)
        except queue.Empty:
            return
        raise AssertionError(f"nothing was to come, but {event}")

    @keyword
    def close_readers(self):
        for reader in self.readers:
            reader.close()
        self.readers = []
