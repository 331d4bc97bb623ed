"""Kinds of things that are written in parts, how else they are written, and what their parts are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """`written` is found whole by each of `wholes`, and in part by each of `parts`, which stand in it so."""

    written: str
    wholes: tuple[str, ...]
    parts: tuple[str, ...]


KEY = "3524 0312 3456 7800 0195 5500 1000 0012 3410 0001 2345"
KINDS = (
    Kind("dá-lo-ia", ("dá-lo-ia", "da-lo-ia", "daria"), ()),
    Kind("fá-lo-emos", ("fá-lo-emos", "faremos"), ()),
    Kind("far-se-á", ("far-se-á", "fará"), ("se",)),
    Kind("d'água", ("d'água", "d’água", "dagua"), ("água",)),
    Kind("caixa-d’água", ("caixa-d'água", "caixadagua"), ("caixa", "água", "d’água")),
    Kind("Sant'Ana", ("Sant’Ana", "Santana"), ("Ana",)),
    Kind("1º", ("1º", "1o", "1.º"), ("1",)),
    Kind("1ª", ("1ª", "1a"), ("1",)),
    Kind("5o", ("5º", "5o", "5°"), ("5",)),
    Kind("1.234,56", ("R$ 1.234,56", "1234,56", "1,234.56", "US$ 1,234.56"), ("1.234", "56")),
    Kind("R$", ("R$",), ()),
    Kind("US$", ("us$",), ()),
    Kind("27,5", ("27,5%", "27.5"), ("27", "5")),
    Kind("12/03/2024", ("12/03/2024", "12/03/24", "2024-03-12", "12 de março de 2024", "12-03-2024"), ("12", "2024")),
    Kind("2024-03-12", ("12/03/2024", "2024-03-12", "12.03.2024", "March 12, 2024"), ("03", "2024")),
    Kind(
        "12 de março de 2024",
        ("12/03/2024", "12 de março de 2024", "12 DE MARCO DE 2024", "12 mar. 2024"),
        ("12", "março", "2024"),
    ),
    Kind("1º de janeiro de 2025", ("01/01/2025", "1 de janeiro de 2025"), ("1º", "janeiro")),
    Kind("12th March 2024", ("2024-03-12",), ("12th", "March")),
    Kind("8.112/1990", ("Lei nº 8.112/1990", "lei 8112/90", "8112/1990"), ("8.112", "1990")),
    Kind("14.133/21", ("Lei 14.133/2021", "14133/21"), ("14.133", "21")),
    Kind(
        "8.112, de 11 de dezembro de 1990",
        ("Lei 8.112/1990", "lei 8112/90", "8.112 de 1990"),
        ("8.112", "11 de dezembro de 1990", "dezembro"),
    ),
    Kind("art. 5º", ("art. 5º", "artigo 5", "Art. 5o", "art.5"), ("art", "5")),
    Kind("artigo 5º-A", ("art. 5-A", "art. 5º-a"), ("artigo", "5")),
    Kind("§ 2º", ("§ 2º", "§2", "parágrafo 2º", "paragrafo 2"), ("§", "2")),
    Kind("III", ("III", "inciso iii"), ()),
    Kind(KEY, (KEY, KEY.replace(" ", "")), ("3524", "2345")),
    Kind("12.345.678/0001-95", ("12.345.678/0001-95", "12345678000195"), ("12.345.678", "0001", "95")),
    Kind("12.ABC.345/01DE-35", ("12ABC34501DE35", "12.abc.345/01de-35"), ("ABC", "35")),
    Kind("123.456.789-09", ("123.456.789-09", "12345678909"), ("123.456.789", "09")),
    Kind("012.345.678-90", ("01234567890",), ("012.345.678",)),
    Kind(
        "0001234-56.2024.8.26.0100",
        ("0001234-56.2024.8.26.0100", "00012345620248260100"),
        ("0001234", "0001234-56", "2024", "26"),
    ),
    Kind("01310-100", ("01310-100", "01310100"), ("01310", "100")),
    Kind("91234-5678", ("912345678", "91234-5678"), ("91234",)),
    Kind("foo_bar", ("foo_bar", "fooBar", "foo-bar", "foobar"), ("foo", "bar")),
    Kind("getUserName", ("getUserName", "get_user_name", "getusername"), ("get", "User", "Name")),
    Kind("HTTPServer", ("HTTPServer", "http-server"), ("HTTP", "Server")),
    Kind("iPhone", ("iphone", "iPhone"), ("Phone",)),
    Kind("kebab-case-name", ("kebab-case-name", "kebabCaseName"), ("kebab", "case", "name")),
    Kind("os.path.join", ("os.path.join",), ("os", "path", "join")),
    Kind("std::vector", ("std::vector",), ("std", "vector")),
    Kind("etc/apt/sources.list", ("/etc/apt/sources.list",), ("etc", "sources", "sources.list")),
    Kind("v2.1.3-rc1", ("v2.1.3-rc1", "2.1.3rc1"), ("v2", "2", "3", "rc1")),
    Kind("2.1.3", ("v2.1.3", "2.1.3"), ("2", "3", "2.1")),
    Kind("192.168.1.10", ("192.168.1.10",), ("192.168.1", "10")),
    Kind(
        "ana.silva@exemplo.com.br",
        ("ana.silva@exemplo.com.br", "Ana.Silva@Exemplo.com.br"),
        ("ana", "silva", "ana.silva", "exemplo", "exemplo.com.br"),
    ),
    Kind(
        "exemplo.org/a/ver?id=3#topo",
        ("https://www.exemplo.org/a/ver?id=3#topo", "http://exemplo.org/a/ver?id=3#topo"),
        ("exemplo", "exemplo.org", "ver", "topo"),
    ),
    Kind("guarda-chuva", ("guarda-chuva", "guarda‑chuvas", "guardachuva"), ("guarda", "chuva")),
    Kind("bem-te-vi", ("bem-te-vi", "bemtevi"), ("bem", "vi")),
    Kind("TCP/IP", ("tcp/ip",), ("TCP", "IP")),
    Kind("P&D", ("P&D",), ("P",)),
    Kind("S.A.", ("S.A.", "SA"), ()),
    Kind("COVID-19", ("covid19", "COVID-19"), ("COVID", "19")),
    Kind("10:30", ("10:30",), ("10", "30")),
)
