"""What is masked, and what is left alone. Every secret here is made up."""

from __future__ import annotations

import base64

import pytest

from estante.model.content import Redaction, Span
from estante.security.scrub import DETECTORS_VERSION, detectors, mask, names_secret, scrub, scrub_value
from tests.growth import BETWEEN, ratio

A16 = "aB3dE5gH7jK9mN1p"
A36 = "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA2cD4eF6"
HEX32 = "0123456789abcdef" * 2
LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{LINE}\n{LINE}\n-----END RSA PRIVATE KEY-----"

# The secret stands between « and »; the rest of the text has to stay.
SECRETS = {
    "private-key": [
        f"-----BEGIN RSA PRIVATE KEY-----«\n{LINE}\n{LINE}\n»-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----«\\n{LINE}\\n{LINE}\\n»-----END PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----«\n{LINE}\n{LINE}\n»-----END OPENSSH PRIVATE KEY-----",
        f"-----BEGIN ENCRYPTED PRIVATE KEY-----«\\nProc-Type: 4,ENCRYPTED\\nDEK-Info: AES-128-CBC,00\\n\\n{LINE}\\n»"
        "-----END ENCRYPTED PRIVATE KEY-----",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----«\nVersion: 1\n\n{LINE}\n=abcd\n»-----END PGP PRIVATE KEY BLOCK-----",
        f"-----BEGIN EC PRIVATE KEY-----«\n{LINE}\n{LINE}»\n\nO texto segue aqui.",
        f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----«\nComment: x\n{LINE}»\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        f"Private-Lines: 2\n«{LINE}\n{LINE}\n»Private-MAC: 00",
        "«AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQQPZRY9X8GF2TVDW0S3JN5»",
    ],
    "url-password": [
        "http://bob:«hunter2»@host/page",
        "redis://:«s3nh4forte»@cache:6379/0",
        "postgres://app:«pa/ss@w0rd»@db.interno:5432/base",
        "mongodb+srv://u:«p@ss»@h1:27017,h2:27017/x",
    ],
    "url-token": [f"https://«{A36}»@git.interno/repo.git", f"https://«{A36}»:x-oauth-basic@git.interno/repo.git"],
    "bearer": [
        f"Authorization: Bearer «{A36}»",
        f"Bearer: «{A36}»",
        f"curl -H 'authorization: bearer «{A36[:20]}~.x»'",
    ],
    "authorization": [
        "Authorization: Basic «" + base64.b64encode(b"ana:segredo1").decode() + "»",
        "Proxy-Authorization: Basic «" + base64.b64encode(b"ana:segredo1").decode() + "»",
        f"Authorization: token «{A36}»",
    ],
    "cookie": ["Cookie: «sessionid=8f3a9c2b1d7e; csrftoken=Zx81kLmn»"],
    "jwt": [
        "«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g»",
        "«eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.»",
        "«eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4In0..48V1_ALb6US04U3b.5eym8TW_c8SuK0lt.XFBoMYUZodetZdvT»",
    ],
    "signed-url": [
        f"https://x.blob.core.windows.net/a?sv=1&sig=«{A36}%3D»",
        f"https://b.s3.amazonaws.com/k?X-Amz-Signature=«{HEX32 * 2}»",
    ],
    "github": [*(f"«gh{kind}_{A36}»" for kind in "pousr"), f"«github_pat_11ABCDEFG0{A36}_{A36}»"],
    "gitlab": [
        f"«gl{kind}-{A16}abcd»" for kind in ("pat", "dt", "rt", "ptt", "cbt", "ft", "imt", "oas", "agent", "soat")
    ],
    "atlassian": [f"«ATATT3xFfGF0{A36}_-=1A2B3C4D»", f"«ATBB{A36}»"],
    "terraform": [f"abcDEF12345678.atlasv1.«{A36}{A36}»"],
    "npm": [f"«npm_{A36}»"],
    "pypi": [f"«pypi-AgEIcHlwaS5vcmc{A36}»"],
    "rubygems": [f"«rubygems_{HEX32}{HEX32[:16]}»"],
    "docker": [f"«dckr_pat_{A36[:27]}»"],
    "slack": [
        f"«xoxb-123456789012-{A16}»",
        f"«xoxe.xoxp-1-{A36}»",
        f"«xapp-1-A0123-{A16}»",
        f"«xoxc-12345-{A16}»",
        f"«xoxd-{A16}%2F1»",
    ],
    "webhook": [
        f"https://hooks.slack.com/services/«T0123ABCD/B0123ABCD/{A16}abcdefgh»",
        f"https://discord.com/api/webhooks/123456789012345678/«{A36}_{A36}»",
    ],
    "telegram": [f"123456789:«AA{A36[:33]}»"],
    "aws-key-id": ["«AKIAQ3EGRT5YH7JK9LMN»", "«ASIAQ3EGRT5YH7JK9LMN»", "«ABIAQ3EGRT5YH7JK9LMN»"],
    "google": [f"«AIzaSy{A36[:33]}»", f"«GOCSPX-{A36[:28]}»", f"«ya29.{A36}»"],
    "azure": [f"AccountName=x;AccountKey=«{A36}{A36}==»;EndpointSuffix=core", f"«{'aB1'}»"[:0] + f"aB1«8Q~{A36[:34]}»"],
    "digitalocean": [f"«dop_v1_{HEX32}{HEX32}»"],
    "databricks": [f"«dapi{HEX32}»"],
    "vault": [f"«hvs.{A36}»"],
    "grafana": [f"«glsa_{A36}_1a2b3c4d»"],
    "stripe": ["«sk_" + f"live_{A16}abcdefgh»", "«rk_" + f"live_{A16}abcdefgh»", f"«whsec_{A16}abcd»"],
    "sendgrid": [f"«SG.{A16}abcdef.{A36}»"],
    "twilio": [f"«SK{HEX32}»"],
    "mailgun": [f"«key-{HEX32}»"],
    "shopify": [f"«shpat_{HEX32}»"],
    "linear": [f"«lin_api_{A36}»"],
    "model-key": [
        f"«sk-{A36}»",
        f"«sk-proj-{A36}_{A16}»",
        f"«sk-ant-api03-{A36}-{A16}»",
        f"«hf_{A36[:34]}»",
        f"«gsk_{A36}»",
    ],
    "password": [
        "password: «hunter2x»",
        "DB_PASSWORD=«hunter2x»",
        "export ADMIN_PASSWORD='«correct horse 9»'",
        '{"password": "«hunter2»"}',
        '{\\"password\\": \\"«hunter2\\»"}',
        'os.environ["DB_PASSWORD"] = "«hunter2»"',
        "Server=x;User Id=sa;Password=«Abc!2024»;Encrypt=true",
        "jdbc:mysql://h/db?user=u&password=«a1b2c3d4»&ssl=1",
        "DB_PASS=«s3cr3t!»",
        "passwd => «tr0ub4dor»",
        "senha: «Casa@2024»",
        "Senha do wifi: «Visitas#77»",
        "SENHA_BANCO=«f8Kq2Lz»",
        "a senha é «Casa@2024»",
        "the password is «Tr0ub4dor»",
        "PIN e senha: «482913»",
        "palavra-passe: «Xa9!kk2»",
        "pwd=«hUnTeRtwo»",
        "<password>«hunter2x»</password>",
        "mysqldump --password «hunter2x» base",
        "machine git.interno login ana password «abc»",
    ],
    "secret": [
        f"aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCY{A16[:10]}»",
        f"aws_session_token=«{A36}»",
        "client_secret: «9f8e7d6c5b»",
        f"X-API-Key: «{A16}»",
        f"api_key = '«{A16}»'",
        f"export API_KEY=«{A16}»",
        f"https://x/y?access_token=«{A16}»&z=1",
        f"chave de acesso: «{A16}»",
        "segredo = «k9-Lm2-pQ7»",
        "authToken: «8f3a9c2b1d»",
    ],
}

STAY = [
    "The bearer of this letter may enter; bearer bonds are not sold; Bearer authentication is used.",
    "senha: use ao menos 12 caracteres",
    "Senha: obrigatória. A senha é secreta e pessoal; a senha deve ter letras.",
    "password: string",
    "password: <password>",
    "password=${DB_PASSWORD}",
    "password={{ vault_password }}",
    "password: xxxxxxxx",
    "password: ********",
    "password = None",
    "token: null",
    "secret: true",
    "api_key=YOUR_API_KEY",
    "api_key: your-api-key",
    'password = "example"',
    "password=os.environ['DB_PASSWORD']",
    "password = settings.DATABASE_PASSWORD",
    "token = get_token(user)",
    "token: SecretKeyRef",
    "password_policy: min-12-chars",
    "token_type: Bearer12345",
    "secretaria: SEPLAG-2024",
    "resenha: Capítulo2 e desenho: Fig.3a",
    "tokenizer: bert-base-v2",
    "max_tokens: 4096",
    "a chave de acesso ao prédio fica na portaria",
    "https://example.com:8080/@user/repo",
    "docker://repo:tag@sha256:0123456789abcdef",
    "ssh://git@host/repo.git",
    "https://user:password@host/",
    "http://host:8080/a@b",
    "mailto:ana@example.com",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-learn-is-a-library-of-many-words",
    "key-value stores and key-0 to key-9",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "CNPJ 12.345.678/0001-95, CPF 123.456.789-09, NF-e 3524 0112 3456 7800 0195",
    "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n-----END PUBLIC KEY-----",
    "between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "Processo nº 0001234-56.2024.8.26.0100, art. 5º, inciso LXXIX",
]


def cases() -> list[tuple[str, str]]:
    return [(kind, text) for kind, texts in SECRETS.items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), cases())
def test_a_secret_is_masked_and_nothing_else(kind: str, text: str) -> None:
    before, secret, after = text.replace("»", "«").split("«")

    clean, redactions = scrub(before + secret + after)

    assert clean == before + mask(secret) + after
    assert redactions == (Redaction(kind, Span(len(before), len(before) + len(secret))),)


@pytest.mark.parametrize("text", STAY)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert scrub(text) == (text, ())


def test_every_family_of_the_table_has_an_example_here() -> None:
    assert {detector.id for detector in detectors()} == set(SECRETS)


def test_every_keyword_is_lower_case_where_case_is_folded() -> None:
    assert all(
        keyword == keyword.lower() for detector in detectors() if detector.folded for keyword in detector.keywords
    )


@pytest.mark.parametrize("front", ["é", "_", "x", "\u200b", "中"])
def test_a_letter_in_front_hides_nothing(front: str) -> None:
    assert scrub(f"{front}ghp_{A36}")[0].endswith(mask(f"ghp_{A36}"))


def test_characters_that_nobody_sees_hide_nothing() -> None:
    token = f"ghp_{A16}\u200b{A16}\u00ad{A16}"

    clean, redactions = scrub(f"veja {token} aqui")

    assert clean == f"veja {mask(token)} aqui"
    assert redactions == (Redaction("github", Span(5, 5 + len(token))),)


def test_a_secret_that_stands_again_alone_is_masked_there_too() -> None:
    clean, redactions = scrub("A senha: Casa@2024. Digite Casa@2024 e entre.")

    assert "Casa@2024" not in clean
    assert len(redactions) == 2


def test_line_breaks_stay_so_that_lines_can_be_counted() -> None:
    clean, _ = scrub(f"um\n{PEM}\nfim")

    assert clean.count("\n") == f"um\n{PEM}\nfim".count("\n")
    assert LINE not in clean


def test_what_two_detectors_find_is_named_by_the_first_in_the_table() -> None:
    _, redactions = scrub(f"password=ghp_{A36}")

    assert redactions == (Redaction("github", Span(9, 9 + 40)),)


def test_a_letter_that_grows_in_lower_case_moves_no_mask() -> None:
    assert scrub("İİİ password: hunter2x İ")[0] == "İİİ password: ████████ İ"


@pytest.mark.parametrize(
    "key",
    [
        "token",
        "access_token",
        "accessToken",
        "API-Key",
        "apiKey",
        "X-Api-Key",
        "password",
        "db.passwd",
        "senha",
        "Senha_Banco",
        "pwd",
        "client_secret",
        "cookie",
        "Set-Cookie",
        "credentials",
        "bearer",
        "private key",
        "privateKey",
        "session id",
        "sessionId",
        "Authorization",
        "chave_de_acesso",
        "segredo",
    ],
)
def test_a_value_under_the_name_of_a_credential_is_masked_whole(key: str) -> None:
    assert names_secret(key)
    assert scrub_value({key: "abc"}) == {key: "███"}


@pytest.mark.parametrize(
    "key",
    [
        "tokenizer",
        "secretary",
        "secretaria",
        "author",
        "title",
        "keywords",
        "key",
        "session",
        "max_tokens",
        "token_count",
        "resenha",
    ],
)
def test_a_value_under_another_name_stays(key: str) -> None:
    assert not names_secret(key)
    assert scrub_value({key: "abc"}) == {key: "abc"}


def test_metadata_are_scrubbed_at_any_depth_and_in_keys() -> None:
    value = {
        "a": [{"b": f"see ghp_{A36}"}, 7, None, True],
        f"ghp_{A36}": 1,
        "senha": {"wifi": ["abc", 1234, None, False]},
    }

    assert scrub_value(value) == {
        "a": [{"b": "see " + "█" * 40}, 7, None, True],
        "█" * 40: 1,
        "senha": {"wifi": ["███", "████", None, False]},
    }


def test_the_version_of_the_detectors_names_the_table() -> None:
    assert DETECTORS_VERSION.startswith("1.")
    assert len(DETECTORS_VERSION) == 10


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "eyJ.",
        "eyJ-",
        "password=\n",
        "password=abc123x\n",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----\n",
        "://",
        "://a:",
        "://a:b@",
        "bearer ",
        "sk-",
        "sk-a",
        "xoxb-",
        "github_pat_",
        "glpat-",
        "AKIA",
        "AIza",
        "ATATT3",
        "senha: ",
        'token="',
        "SG.",
        ":AA",
        "machine ",
        "cookie: a=",
        "█",
        "\u200b",
        "A1b2",
    ],
)
def test_the_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    assert ratio(lambda size: scrub(unit * (size // len(unit))), 40_000) < BETWEEN
