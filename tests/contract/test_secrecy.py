"""Secrets in documents: which names and values give one away, and what only looks like it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estante.contract.references import SecretText
from estante.contract.secrecy import holds_secret, secret_paths
from tests.growth import BETWEEN, ratio

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"

# --- names ---------------------------------------------------------------------------------------------------------

HINTS = ("password", "secret", "token", "api_key", "apikey", "credential")
"""What rag-connector looks for, anywhere in a name."""

NAMES = """
    password Password PASSWORD db_password userPassword passwords secret client_secret x-secret-header secretKey token
    access_token accessToken id_token auth-token toKEN token_type api_key API_KEY apikey apiKey ApiKey x-api-key
    X-API-Key my.api.key api_keys credential credentials google_credentials
    authorization Authorization proxy-authorization passwd pwd db_pwd DBPWD passphrase private_key privateKey
    ssh-private-key access_key signing_key encryption_key accountKey dsn sentry_dsn SENTRY_DSN bearer bearer_token
    cookie Set-Cookie session session_id sessionId PHPSESSID jwt
    senha Senha senha_do_banco senhas segredo segredos chave_api chaveApi chave_de_api chave-da-api chave_privada
    chave_secreta credencial credenciais credênciais contraseña autorização palavra_passe
    access_tokens refreshTokens api_tokens mytoken tokenvalue input_token cache_token
    ｐａｓｓｗｏｒｄ pass\u200bword p\u0430\u0455\u0455word
""".split()

HARMLESS = """
    max_tokens maxTokens max-tokens MAX_TOKENS min_tokens num_tokens n_tokens total_tokens token_count tokenCount
    token_limit token_budget tokens_per_chunk chunk_tokens prompt_tokens completion_tokens input_tokens cached_tokens
    input_token_count maxtokens token_ids token_overlap token_window token_set_ratio
    tokenizer Tokenizer tokenizer_name tokenization tokenize tokenised detokenizer subtokenizer
    pad_token eos_token stop_tokens special_tokens token_pattern token_filters token_splitter token_embeddings
    author authors authority auth_type authMethod auth_url session_timeout session_count max_sessions cookie_domain
    key keys public_key primary_key foreign_key cache_key sort_key keyword keywords monkey map_keys
    private_key_path ssh_key_file passage passages pass_count first_pass bypass compass
    secretary secretaria secretaria_municipal Secretário resenha desenhar chave chave_primaria chave_acesso
    top_k strategy endpoint collection model dimension url database dsname
""".split()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["hunter2", 1234], ids=["text", "number"])
def test_the_name_of_a_secret_is_found_in_every_spelling(name: str, value: object) -> None:
    assert secret_paths({name: value}) == [name]


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.parametrize("value", ["x", 512], ids=["text", "number"])
def test_a_name_that_only_looks_like_one_is_left_alone(name: str, value: object) -> None:
    assert secret_paths({name: value}) == []


@given(
    hint=st.sampled_from(HINTS),
    before=st.sampled_from(["", "x", "x-", "my_", "db", "the.", "Ä", "2", " "]),
    after=st.sampled_from(["", "x", "-x", "_value", "Header", "s", "2", ".id", " ?"]),
    capitals=st.lists(st.booleans(), min_size=10, max_size=10),
)
def test_what_rag_connector_finds_in_a_name_is_found(hint: str, before: str, after: str, capitals: list[bool]) -> None:
    spelt = "".join(sign.upper() if up else sign for sign, up in zip(hint, capitals, strict=False))

    name = f"{before}{spelt}{after}"

    assert secret_paths({name: "hunter2"}) == [name]


@pytest.mark.parametrize("name", ["api_key", "password", "token", "secret", "credentials", "senha"])
@pytest.mark.parametrize("value", [None, "", 0, True, [], {}], ids=repr)
def test_a_certain_name_is_found_even_without_a_value(name: str, value: object) -> None:
    assert secret_paths({name: value}) == [name]


@pytest.mark.parametrize("name", ["tokens", "auth", "authentication", "sessions", "cookies", "pass", "db_pass"])
def test_a_name_of_two_senses_is_found_with_a_text_and_not_with_a_number(name: str) -> None:
    assert secret_paths({name: "hunter2"}) == [name]
    assert secret_paths({name: ["hunter2"]}) == [name]
    assert secret_paths({name: b"hunter2"}) == [name]
    assert secret_paths({name: 3}) == []
    assert secret_paths({name: "3"}) == []


@pytest.mark.parametrize("name", ["auth", "authorization", "session", "cookie", "bearer"])
@pytest.mark.parametrize("value", [None, True, False, {}, {"enabled": True}, "", "none", "oauth2", "Basic"], ids=repr)
def test_a_switch_a_section_or_a_way_to_sign_in_is_no_secret(name: str, value: object) -> None:
    assert secret_paths({name: value}) == []


# --- references and blanks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*HINTS, "authorization", "dsn", "senha", "endpoint"])
@pytest.mark.parametrize("value", ["env:WIKI_TOKEN", "file:/run/secrets/wiki"])
def test_a_reference_may_stand_under_any_name(name: str, value: str) -> None:
    assert secret_paths({name: value}) == []


def test_a_section_of_references_may_stand_under_any_name() -> None:
    assert secret_paths({"credentials": {"user": "env:A", "password": "file:/run/b"}, "tokens": ["env:C"]}) == []


@pytest.mark.parametrize("value", ["env:", "env:A B", "env:NAME\n", "ENV:NAME", "file:", "file:a", "env", " env:NAME"])
def test_what_is_not_quite_a_reference_is_a_secret(value: str) -> None:
    assert secret_paths({"password": value}) == ["password"]


def test_one_secret_beside_references_is_found() -> None:
    assert secret_paths({"credentials": {"user": "env:A", "token": "hunter2"}}) == ["credentials", "credentials.token"]


def test_a_secret_that_was_read_is_found_under_any_name() -> None:
    assert secret_paths({"endpoint": SecretText("x"), "region": SecretText("env:NAME")}) == ["endpoint", "region"]


# --- values --------------------------------------------------------------------------------------------------------

VALUES = [
    "https://user:hunter2@host/path",
    "postgresql://app:hunter2@db:5432/x",
    "postgresql+psycopg://app:p%40ss@db/x",
    "redis://:1234@cache:6379/0",
    "amqp://guest:guest@mq",
    "see //user:hunter2@host for more",
    "https://ghp_0123456789abcdefghij@github.com/a/b",
    "https://user%3Ahunter2@host",
    "root:hunter2@tcp(127.0.0.1:3306)/db",
    "https://host/?q=a&api_key=hunter2",
    "https://host/?access_token=hunter2",
    "https://host/?X-Amz-Signature=0a1b2c",
    "https://blob/?sv=2020&sig=0a1b2c",
    "host=db user=app password=hunter2",
    "serve --api-key=hunter2 --port=80",
    "Server=db;User Id=sa;Password=1234;",
    "Endpoint=sb://a/;SharedAccessKeyName=b;SharedAccessKey=c2Vj",
    "DefaultEndpointsProtocol=https;AccountKey=c2Vj",
    "banco=x; senha=hunter2",
    'api_key = "hunter2"',
    "Bearer abc",
    "bearer  abc.def",
    "Authorization: Bearer abc",
    "Authorization: Basic dXNlcjpwYXNz",
    "authorization=hunter2",
    "curl -H 'Authorization: Bearer abc123' https://host",
    "send Bearer abcd1234 with it",
    "Basic dXNlcjpwYXNz",
    "Basic YTpi",
    "x-api-key: hunter2",
    "Cookie: sid=abc",
    "Set-Cookie: sid=abc; Secure",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN ENCRYPTED PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    JWT,
    f"the token is {JWT}.",
    "sk-0123456789abcdefghij0123",
    "sk-proj-0123456789abcdefghij0123",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_0123456789abcdefghij",
    "glpat-0123456789abcdefghij",
    "xoxb-0123456789-abcdef",
    "AKIA0123456789ABCDEF",
    "AIza0123456789abcdefghijABCDEFGHIJ01234",
    "hf_0123456789abcdefghijABCDEFGHIJ",
    "npm_0123456789abcdefghijABCDEFGHIJ",
    "dckr_pat_0123456789abcdefghij",
    "pypi-AgE0123456789abcdefghij",
    "SG.0123456789abcdefghij.0123456789abcdefghijABCDEFGHIJ012",
    "https://hooks.slack.com/services/T01234567/B01234567/0123456789abcdefghij",
    '{"url": "https://host", "password": "hunter2"}',
    "{'x-api-key' : 'hunter2'}",
    '{\\"client_secret\\": \\"hunter2\\"}',
]

PLAIN_VALUES = [
    "",
    "hybrid",
    "https://host:8080/path?q=a#b",
    "https://host/path@version/x:1",
    "http://[::1]:8080/",
    "postgresql://app@db/x",
    "ssh://git@github.com/a/b",
    "https://joe@host/",
    "mailto:joe@example.org",
    "joe@example.org",
    "12:30 @ noon",
    "https://user:${PASSWORD}@host",
    "https://user:{password}@host",
    "https://user:***@host",
    "https://user:<password>@host",
    "https://host/?max_tokens=512&page=2",
    "https://host/?token=${TOKEN}",
    "host=db password=env:DB_PASSWORD",
    "Password=***",
    "Authorization: Bearer <token>",
    "Bearer",
    "Bearer token",
    "bearer authentication",
    "the bearer of this letter",
    "Basic search",
    "basic retrieval",
    "Basic abcdefgh",
    "Basic abcdefghi",
    "the password is not stored",
    "password: none",
    "ask your administrator for a token",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "risk-assessment-of-2024-and-of-the-years-before",
    "sk-learn-based-classifier-of-documents",
    "BAAI/bge-small-en-v1.5",
    "9d420388a63475deff290379cec0d5c1d11d21e3028e73e3531dcedde16992c1",
    "env:NAME",
    "file:/run/secrets/x",
    "a = b",
    "top_k=5;mode=hybrid",
    '{"password": "env:DB_PASSWORD", "max_tokens": "512"}',
    '{"token": "{token}", "answer": "..."}',
    "https://hooks.slack.com/services/",
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_is_or_holds_a_secret_is_found_under_any_name(value: str) -> None:
    assert secret_paths({"note": value}) == ["note"]
    assert holds_secret(value)


@pytest.mark.parametrize("value", PLAIN_VALUES)
def test_a_value_without_a_secret_is_left_alone(value: str) -> None:
    assert secret_paths({"note": value, "list": [value]}) == []
    assert not holds_secret(value)


PIECES = [
    "a",
    "//",
    "//a:",
    "eyJ",
    "bearer ",
    "basic ",
    'a="',
    "cookie:",
    "-----BEGIN A ",
    "authorization:",
    "a=",
    "a: ",
]


@pytest.mark.parametrize("piece", PIECES)
def test_the_time_of_a_search_grows_as_the_value_does_and_not_as_its_square(piece: str) -> None:
    assert ratio(lambda size: holds_secret(piece * size), 5_000) < BETWEEN


@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    assert holds_secret(text) in (True, False)
    assert len(secret_paths({text: text})) in (0, 1)


# --- paths ---------------------------------------------------------------------------------------------------------


def test_a_path_has_dots_between_keys_and_numbers_in_brackets() -> None:
    document = {
        "auth": {"api_key": "x"},
        "headers": [{"x-secret-header": "x"}],
        "deep": ({"a": [[{"token": 1}]]},),
        1: {"senha": "x"},
    }

    assert secret_paths(document) == ["auth.api_key", "headers[0].x-secret-header", "deep[0].a[0][0].token", "1.senha"]


def test_what_lies_within_a_found_section_is_found_too_after_it() -> None:
    assert secret_paths({"token": [{"secret": 1}, {"a": 1}]}) == ["token", "token[0].secret"]


def test_a_list_at_the_top_and_a_text_alone_have_paths_too() -> None:
    assert secret_paths([{"pwd": "x"}, "Bearer abc"]) == ["[0].pwd", "[1]"]
    assert secret_paths("Bearer abc") == [""]


def test_a_header_written_as_a_name_and_a_value_is_found_at_its_value() -> None:
    headers = [{"name": "X-API-Key", "value": "hunter2"}, {"name": "Accept", "value": "text/html"}]

    assert secret_paths({"headers": headers}) == ["headers[0].value"]


def test_headers_written_as_pairs_are_found_at_their_second_half() -> None:
    headers = [["Accept", "text/html"], ("X-API-Key", "hunter2"), ["X-API-Key", "env:NAME"], ["token", "hunter2", "x"]]

    assert secret_paths({"headers": headers}) == ["headers[1][1]"]
    assert secret_paths({"columns": ["token", "text"]}) == []


def test_a_key_that_is_itself_a_secret_is_not_shown() -> None:
    assert secret_paths({"a": 1, "https://user:hunter2@host": {"b": 1}}) == ["<key 1>"]
    assert secret_paths({JWT: {"token": 1}}) == ["<key 0>", "<key 0>.token"]


def test_a_document_that_holds_itself_is_searched_once() -> None:
    document: dict[str, object] = {"token": 1}
    document["again"] = [document]

    assert secret_paths(document) == ["token"]


def test_a_part_that_stands_in_two_places_is_found_in_both() -> None:
    part = {"token": 1}

    assert secret_paths({"a": part, "b": part}) == ["a.token", "b.token"]


def test_depth_does_not_hide_a_secret() -> None:
    document: object = {"token": 1}
    for _ in range(20 * sys.getrecursionlimit()):
        document = [document]

    [path] = secret_paths(document)

    assert path.endswith("[0].token")


@pytest.mark.parametrize("value", [None, 1, 1.5, True, "", [], {}, (), object()])
def test_a_value_without_keys_has_no_paths(value: object) -> None:
    assert secret_paths(value) == []
