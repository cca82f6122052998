"""Text in any encoding is read as its author wrote it; where its encoding is only guessed, a warning says so."""

from pathlib import Path

import pytest

from ingest.charset import decoded
from ingest.readers import read
from kb.errors import DocumentError

CHINESE = "# 时钟\n\n计算核的时钟频率为 1.5 GHz，空闲时降到 300 MHz。\n"
JAPANESE = "# メモリ\n\n各コアには 96 KB の作業領域があり、データは二つの銀行に分かれる。\n"
RUSSIAN = "# Память\n\nКаждое ядро имеет 96 КБ рабочей памяти, разделённой на два банка.\n"

GUESSED = {
    "GBK": ("gbk", CHINESE),
    "short GBK": ("gbk", "缓存大小 64 KB\n"),
    "Big5": ("big5", "# 時鐘\n\n計算核心的時鐘頻率為 1.5 GHz，空閒時降到 300 MHz。\n"),
    "Shift-JIS": ("cp932", JAPANESE),
    "katakana in Shift-JIS": ("cp932", "データのメモリ 96 KB\n"),
    "EUC-JP": ("euc_jp", JAPANESE),
    "EUC-KR": ("cp949", "# 메모리\n\n각 코어에는 96 KB의 작업 메모리가 있다.\n"),
    "Windows-1251": ("cp1251", RUSSIAN),
    "one word in Windows-1251": ("cp1251", "The core (ядро) has 96 KB.\n"),
    "KOI8-R": ("koi8_r", RUSSIAN),
    "German in Latin-1": ("latin-1", "Die Größe beträgt 96 KB je Kern, für Zugriffe 4 Zyklen.\n"),
    "French in Latin-1": ("latin-1", "La mémoire a été divisée en deux banques; débit élevé.\n"),
    "signs in Latin-1": ("latin-1", "It draws 5 µA at 85 °C ± 2 %.\n"),
    "quotes in Windows-1252": ("cp1252", "The “tile” has 96 KB – two banks’ worth. „So“\n"),
}


@pytest.mark.parametrize(("encoding", "text"), GUESSED.values(), ids=GUESSED)
def test_an_encoding_that_nothing_declares_is_guessed_and_a_warning_says_so(encoding: str, text: str) -> None:
    read_, doubt = decoded(text.encode(encoding))

    assert read_ == text
    assert "guessed" in doubt


HTML = '<html><head><!-- <meta charset="utf-8"> --><title>x</title>{meta}</head><body><p>{text}</p></body></html>'
META = '<meta charset="{name}">'
EQUIV = '<META http-equiv="Content-Type" content="text/html; charset={name}">'
XML = '<?xml version="1.0" encoding="{name}"?>\n<p>{text}</p>'
DECLARED = {
    "gb2312": (HTML.replace("{meta}", META), "gbk", "缓存镕"),
    "Shift_JIS": (HTML.replace("{meta}", EQUIV), "cp932", "①作業"),
    "x-sjis": (HTML.replace("{meta}", META), "cp932", "作業"),
    "EUC-JP": (XML, "euc_jp", "作業"),
    "ISO-2022-JP": (HTML.replace("{meta}", META), "iso2022_jp", "作業"),
    "big5": (HTML.replace("{meta}", META), "big5", "時鐘"),
    "ks_c_5601-1987": (HTML.replace("{meta}", META), "cp949", "메모리"),
    "windows-1251": (XML, "cp1251", "ПАМЯТЬ"),
    "KOI8-R": (HTML.replace("{meta}", EQUIV), "koi8_r", "Память"),
    "iso-8859-1": (HTML.replace("{meta}", META), "cp1252", "“Größe”"),
    "iso-8859-2": (HTML.replace("{meta}", META), "iso8859_2", "częstotliwość"),
    "utf-8": (HTML.replace("{meta}", META), "utf-8", "缓存"),
    "latin1": (HTML.replace("{meta}", META), "utf-8", "Größe"),
    "gbk": ("#!/usr/bin/python\n# -*- coding: {name} -*-\n# {text}\n", "gbk", "缓存镕"),
    "windows-1250": ("= Title\n:encoding: {name}\n\n{text}\n", "cp1250", "częstotliwość"),
}


@pytest.mark.parametrize(("name", "form", "encoding", "text"), [(k, *v) for k, v in DECLARED.items()], ids=DECLARED)
def test_a_declared_encoding_is_used_without_a_warning_unless_the_text_is_utf_8(
    name: str, form: str, encoding: str, text: str
) -> None:
    whole = form.replace("{name}", name).replace("{text}", text)

    assert decoded(whole.encode(encoding)) == (whole, "")


@pytest.mark.parametrize("name", ["nonsense", "utf-8", "base64", "utf-16", "unicode_escape", "idna"])
def test_a_declaration_that_does_not_fit_is_not_followed(name: str) -> None:
    whole = HTML.replace("{meta}", META).replace("{name}", name).replace("{text}", CHINESE)

    assert decoded(whole.encode("gbk")) == (whole, "the encoding of the file is guessed: gb18030")


def test_a_few_invalid_bytes_are_replaced_with_a_warning() -> None:
    assert decoded("Größe für alle".encode() + b"\xff")[0] == "Größe für alle\ufffd"
    assert "replaced" in decoded("Größe für alle".encode() + b"\xff")[1]
    declared = (
        HTML.replace("{meta}", META).replace("{name}", "gbk").replace("{text}", CHINESE * 9).encode("gbk") + b"\xff"
    )
    assert decoded(declared)[1] == "invalid bytes of gb18030 are replaced"


def test_bytes_of_no_encoding_are_refused() -> None:
    with pytest.raises(DocumentError, match="its encoding is unknown"):
        read(Path("a.md"), bytes(range(128, 256)) * 9, root=Path("/"))
