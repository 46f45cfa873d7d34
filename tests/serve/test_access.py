from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.live import Events, Served, serving
from support.studies import write_study

from robustness.serve.addresses import ServeError, listen
from robustness.serve.live_study import LiveStudy
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("store")
    study = load_study(str(write_study(folder)))
    with open_store(f"sqlite:///{folder / 'store.db'}") as store:
        store.register(study, make_plan(study))
    return f"sqlite:///{folder / 'store.db'}"


@pytest.fixture(scope="module")
def served(url: str) -> Iterator[Served]:
    with serving(url) as server:
        yield server


@pytest.fixture(scope="module")
def guarded(url: str) -> Iterator[Served]:
    with serving(url, with_token=True) as server:
        yield server


PATHS = (
    "/",
    "/events",
    "/studies/simulated",
    "/studies/simulated/events",
    "/studies/simulated/report",
    "/static/live.css",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "", "localhost/"),
        *("evil.example@localhost", "127.0.0.2", "localhost:99999999", "[::1", "169.254.169.254"),
    ],
)
def test_another_host_is_refused(served: Served, path: str, host: str) -> None:
    status, headers, body = served.get(path, Host=host)
    assert status in (400, 421)
    assert "simulated" not in body
    assert "set-cookie" not in headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8642", "127.0.0.1", "127.0.0.1:1", "[::1]:8642"])
def test_names_of_this_machine_are_answered_whatever_port_a_tunnel_has(served: Served, host: str) -> None:
    assert served.get("/", Host=host)[0] == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
    ],
)
def test_a_page_of_another_site_is_refused(served: Served, path: str, headers: dict[str, str]) -> None:
    status, answer, body = served.get(path, **headers)
    assert status == 403
    assert "simulated" not in body
    assert not any(name.startswith("access-control") for name in answer)


def test_a_link_on_another_site_can_be_followed_and_the_own_page_can_ask(served: Served) -> None:
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert served.get("/", **link)[0] == 200
    assert served.get("/static/live.css", Origin=f"http://127.0.0.1:{served.port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/studies/simulated", "/events"])
def test_nothing_can_be_written(served: Served, method: str, path: str) -> None:
    status, headers, _ = served.get(path, method)
    assert status == 405
    assert headers["allow"] == "GET, HEAD"
    assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static/..\\server.py"),
        *(
            "/static/%2e%2e%2f%2e%2e%2f__init__.py",
            "/static/%00",
            "/static/study.html",
            "/static/",
            "/static/live.css/x",
        ),
        *("//etc/passwd", "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/../../../../etc/passwd", "/.git/config"),
        *(
            "/studies",
            "/studies/",
            "/studies//report",
            "/studies/simulated/../../etc/passwd",
            "/studies/simulated/other",
        ),
        *("/%", "/store.db"),
    ],
)
def test_no_path_reaches_a_file(served: Served, path: str) -> None:
    status, _, body = served.get(path)
    assert status == 404
    assert body == "There is no such page.\n"


def test_long_targets_and_headers_are_refused(served: Served) -> None:
    assert served.get("/" + "a" * 5000)[0] == 414
    assert served.get("/", X_Long="a" * 70_000)[0] == 431


@pytest.mark.parametrize("path", [*PATHS[:1], "/studies/simulated", "/static/study.js", "/nothing"])
def test_every_response_has_the_headers_that_protect_it(served: Served, path: str) -> None:
    _, headers, _ = served.get(path)
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_shown(guarded: Served, path: str) -> None:
    token = guarded.server.token
    assert token is not None
    for query in (
        "",
        "?token=",
        f"?token={token[:-1]}",
        f"?token={token}x",
        f"?token={token}&token={token}",
        "?Token=x",
    ):
        status, headers, body = guarded.get(path + query)
        assert status == 401
        assert "set-cookie" not in headers
        assert "simulated" not in body
    for cookie in (
        f"robustness-{guarded.port}={token}",
        "robustness=x",
        f"robustness-{guarded.port}=",
        "=",
        "a" * 3000,
    ):
        assert guarded.get(path, Cookie=cookie)[0] == 401


def test_the_url_with_the_token_sets_a_cookie_once_and_leaves_the_address_bar(guarded: Served) -> None:
    url = guarded.server.url("simulated")
    status, headers, _ = guarded.get(url.removeprefix(guarded.url))
    assert status == 303
    assert headers["location"] == "/studies/simulated"
    cookie = headers["set-cookie"]
    assert str(guarded.server.token) not in cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")[1:]}
    session = cookie.split(";")[0]
    assert guarded.get("/studies/simulated", Cookie=session)[0] == 200
    with Events(guarded, "/events", Cookie=session) as events:
        assert events.next()[0] == "studies"
    # The token does not make up for a foreign Host or Origin.
    assert guarded.get("/", Cookie=session, Host="evil.example")[0] == 421
    assert guarded.get("/", Cookie=session, Origin="http://evil.example")[0] == 403


def test_a_redirect_stays_on_this_server(guarded: Served) -> None:
    _, headers, _ = guarded.get(f"//evil.example/x?token={guarded.server.token}")
    assert headers["location"] == "/evil.example/x"


def test_other_addresses_need_a_token_and_loopback_does_not(url: str) -> None:
    from robustness.serve.server import LiveServer  # here, since the module's server is what is tested

    for host, guarded in (("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)):  # noqa: S104
        listener = listen(host, 0)
        with listener.socket:
            server = LiveServer(url, listener)
            assert (server.token is not None) == guarded
            assert ("token=" in server.url()) == guarded
            assert server.token is None or len(server.token) >= 43


def test_a_port_in_use_is_one_line_that_names_a_free_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=rf"^port {port} is in use: .*--port \d+, or --port 0") as error:
            listen(port=port)
        free = int(str(error.value).split("such as --port ")[1].split(",")[0])
        listen(port=free).socket.close()
        other = listen(port=port, any_port=True)
        assert other.port not in (0, port)
        other.socket.close()
    with pytest.raises(ServeError, match="not an address of this machine"):
        listen("no.such.host.invalid")
    with pytest.raises(ServeError, match=r"^cannot listen on 192\.0\.2\.1"):
        listen("192.0.2.1", 0)


def test_the_number_of_viewers_is_bounded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustness.serve.feed.MOST_VIEWERS", 2)
    with serving(url) as served, Events(served, "/events") as first, Events(served, "/events") as second:
        assert first.next()[0] == second.next()[0] == "studies"
        status, headers, body = served.get("/events")
        assert (status, headers["retry-after"]) == (503, "10")
        assert body.startswith("Too many viewers")
        assert served.get("/")[0] == 200


def test_a_study_that_cannot_be_shown_does_not_end_the_page(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_study: LiveStudy) -> None:
        raise ZeroDivisionError("a fault on purpose")

    monkeypatch.setattr(LiveStudy, "snapshot", fails)
    with serving(url) as served:
        with Events(served, "/studies/simulated/events") as events:
            problem = "unexpected error: ZeroDivisionError: a fault on purpose"
            assert events.until(lambda news: "problem" in news)["problem"] == problem
        with Events(served, "/events") as events:
            assert [study["name"] for study in events.next()[1]["studies"]] == ["simulated"]


def test_a_secret_in_the_address_of_the_store_is_never_shown(tmp_path: Path) -> None:
    address = "postgresql://someone:s3cret-word@127.0.0.1:1/none?password=0ther-secret&connect_timeout=1"
    with serving(address) as served, Events(served, "/events") as events:
        name, news = events.next()
    assert name == "studies"
    assert news["problem"]
    assert "s3cret" not in str(news)
    assert "0ther" not in str(news)
