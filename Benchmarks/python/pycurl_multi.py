"""pycurl with the multi interface and pooled handles."""

from io import BytesIO

import pycurl
from contract import Task, memory_kb, read_task


class Multi:
    """Begins transfers on pooled handles and takes their results."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(
            pycurl.M_MAXCONNECTS, max(task.at_once, task.count if task.workload == "hold" else 0)
        )
        self.bodies: dict[pycurl.Curl, BytesIO] = {}
        self.finished = 0

    def handle(self) -> pycurl.Curl:
        """A new handle with the options that all transfers share."""
        easy = pycurl.Curl()
        easy.setopt(pycurl.NOSIGNAL, 1)
        if self.task.ca:
            easy.setopt(pycurl.CAINFO, self.task.ca)
            easy.setopt(pycurl.PIPEWAIT, 1)
            if self.task.options["http"] != "2":
                easy.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        return easy

    def begin(self, easy: pycurl.Curl, url: str) -> None:
        """Begins a GET."""
        body = self.bodies[easy] = BytesIO()
        easy.setopt(pycurl.URL, url)
        easy.setopt(pycurl.WRITEDATA, body)
        self.multi.add_handle(easy)

    def take(self) -> list[pycurl.Curl]:
        """Lets libcurl work, and checks and returns what has finished; waits when nothing has."""
        self.multi.perform()
        good: list[pycurl.Curl]
        _, good, bad = self.multi.info_read()
        assert not bad, bad
        for easy in good:
            self.multi.remove_handle(easy)
            body = self.bodies.pop(easy)
            self.task.check(easy.getinfo(pycurl.RESPONSE_CODE), body.getvalue())
        if not good:
            self.multi.select(1.0)
        self.finished += len(good)
        return good

    def run(self, handles: list[pycurl.Curl], url: str, count: int) -> None:
        """`count` requests, as many at once as there are handles."""
        begun = self.finished = 0
        free = list(handles)
        while self.finished < count:
            while free and begun < count:
                self.begin(free.pop(), url)
                begun += 1
            free += self.take()

    def wait_for(self, count: int) -> None:
        """Waits until so many have finished since the last call."""
        self.finished = 0
        while self.finished < count:
            self.take()


def hold(task: Task) -> None:
    """The slow server has all requests; the memory is read; it answers; none may be lost."""
    multi = Multi(task)
    control = multi.handle()
    multi.begin(control, f"{task.base}/anything")
    multi.wait_for(1)
    task.start_meters()
    for _ in range(task.count):
        multi.begin(multi.handle(), f"{task.base}/hold")
    multi.begin(control, f"{task.base}/arrived/{task.count}")
    multi.wait_for(1)
    task.extra["held_rss_kb"] = memory_kb("VmRSS")
    multi.begin(control, f"{task.base}/release")
    multi.wait_for(task.count + 1)
    task.report(task.count)


def main(task: Task) -> None:
    """One multi handle, and an easy handle for each request at once."""
    multi = Multi(task)
    handles = [multi.handle() for _ in range(task.at_once)]
    multi.run(handles, task.url, task.warmup)
    task.start_meters()
    multi.run(handles, task.url, task.count)
    task.report(task.count)


if __name__ == "__main__":
    asked = read_task()
    hold(asked) if asked.workload == "hold" else main(asked)
