"""Characters as a page shows them."""

from finetune.data.characters import shown_jamo


def test_jamo_of_tokens_are_shown_as_letters() -> None:
    assert list(map(shown_jamo, ("ᄇ", "##ᅢ", "##ᆯ", "##ᆰ", "ᄈ"))) == ["ㅂ", "##ㅐ", "##ㄹ", "##ㄺ", "ㅃ"]
    assert shown_jamo("배 boat 배 [SEP]") == "배 boat 배 [SEP]"
    assert shown_jamo("\u113c") == "\u113c"  # an old letter without a compatibility form
