"""Sentences in eight languages, drawn from small lists of words: opinions, and facts with entities."""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Parts = tuple[list[str], list[str], list[str]]


def _parted(table: Mapping[str, tuple[str, str, str]]) -> dict[str, Parts]:
    return {language: (a.split("|"), b.split("|"), c.split("|")) for language, (a, b, c) in table.items()}


# Of each language: who or what it is about, what is told of it, and how the sentence ends.
PARTS = _parted(
    {
        "en": (
            "The soup at the station|My second order|That flight to Lisbon|The new keyboard|Their hotline",
            "was cold and late|made my whole week|is not worth the money, sadly,|works as it should",
            "again.|, and nobody cared!|since the update.|- would buy it again.|for us. Why?|on a Monday|this time.",
        ),
        "ko": (
            "이번에 산 이어폰은|역 앞의 국밥집은|새로 나온 영화는|어제 받은 택배는|상담원의 대답은",
            "생각보다 훨씬 좋고|정말 실망스럽고|값에 비해 괜찮고|처음부터 끝까지 지루했고",
            "다시 사고 싶어요.|포장도 엉망이었습니다!|친구에게 알려 줬다.|그냥 그랬음...|또 갈 거예요|아쉽네요.",
        ),
        "de": (
            "Das Essen im Zug|Mein neuer Rucksack|Die Lieferung nach Köln|Der Film gestern|Die Bedienung",
            "war leider völlig kalt|hat uns sehr gut gefallen|kam drei Tage zu spät|ist sein Geld wert",
            "und niemand half.|, gerne wieder!|seit dem Umbau.|– wie immer.|, aber nur knapp.|für Anfänger.",
        ),
        "fr": (
            "Le petit déjeuner|Mon vélo électrique|La chambre au troisième étage|Ce roman|Le guichet",
            "était froid et cher|m'a vraiment surpris|ne vaut pas son prix|est arrivé à l'heure",
            "cette fois-ci.|, quel dommage !|depuis lundi.|comme d'habitude.|, je le reprendrai.|pour une fois",
        ),
        "es": (
            "El servicio del hotel|La batería del móvil|Mi última compra|El guía de Sevilla|Esta aplicación",
            "fue lento y caro|me encantó de verdad|no funciona desde ayer|cumple lo que promete",
            "otra vez.|, ¡qué pena!|desde el martes.|como siempre.|, volveré pronto.|para empezar",
        ),
        "ru": (
            "Доставка в Казань|Новый чайник|Этот сериал|Номер в гостинице|Служба поддержки",
            "оказалась слишком долгой|нам очень понравился|не стоит своих денег|работает как надо",
            "уже второй раз.|, советую всем!|после ремонта.|как обычно.|, но дорого.|к сожалению",
        ),
        "ja": (
            "駅前のラーメン屋は|先週届いた椅子は|新しい映画は|ホテルの朝食は|この辞書アプリは",
            "とても良くて|思ったより高くて|少しがっかりで|期待どおりで",
            "また行きたいです。|友達にも勧めました!|二度と買いません。|普通でした|満足しています。|残念でした。",
        ),
        "zh": (
            "车站旁边的面馆|上周买的耳机|这部新电影|酒店的早餐|客服的回答",
            "非常不错,|让人失望,|比想象的贵,|一如既往地好,",
            "下次还会来。|已经推荐给朋友了!|不会再买了。|就这样吧|值得一试。|有点可惜。",
        ),
        "tr": (
            "Kargo şirketi|Geçen hafta aldığım kulaklık|Otelin kahvaltısı|Yeni güncelleme|Çağrı merkezi",
            "çok geç geldi|beklediğimden iyi çıktı|parasını hiç hak etmiyor|işini düzgün yapıyor",
            "yine.|, herkese öneririm!|ama pahalı.|her zamanki gibi.|, yazık oldu.|bu sefer de",
        ),
        "id": (
            "Pengiriman ke Surabaya|Aplikasi yang baru|Sarapan di hotel itu|Layanan pelanggan|Sepatu ini",
            "sangat lambat dan mahal|benar-benar memuaskan|tidak sesuai harganya|berfungsi dengan baik",
            "lagi.|, kecewa sekali!|sejak kemarin.|seperti biasa.|, akan beli lagi.|menurut saya",
        ),
    }
)
# Of each language: people, places, organisations, and what is told of them.
NAMES = _parted(
    {
        "en": ("Anna Berg|Tom Okafor|Lee", "New York|Oslo|Lake Ontario", "Northern Rail|Acme|UNICEF"),
        "ko": ("김민수|이서연|박 대리", "서울|부산|제주도", "한국은행|대한 적십자사|기상청"),
        "de": ("Karla Vogt|Emil Braun|Jonas", "Bad Homburg|Köln|Leipzig", "Rotes Kreuz|Nordbank|ADAC"),
        "fr": ("Lucie Morel|Paul Roy|Inès", "Le Havre|Lyon|Nantes", "Banque du Nord|Airlis|SNSM"),
        "es": ("Marta Ruiz|Pablo Gil|Elena", "Buenos Aires|Sevilla|Lima", "Cruz Roja|Telenor|Iberluz"),
        "ru": ("Анна Белова|Пётр Ильин|Ольга", "Нижний Новгород|Казань|Томск", "Банк Север|Росгид|Заря"),
        "ja": ("田中|佐藤花子|鈴木", "東京|大阪|北海道", "北海銀行|みどり電機|気象庁"),
        "zh": ("王小明|李娜|张伟", "北京|上海|南京", "东方银行|蓝天公司|气象局"),
    }
)
FACTS: dict[str, list[str]] = {
    "en": [
        '"We like <LOC>", <PER> told <ORG>, smiling.',
        "<ORG> opened a shop in <LOC> last week.",
        "Yesterday <PER> and <PER> left <LOC>.",
        "It rained, and nothing else happened.",
    ],
    "ko": [
        "<PER>가 <LOC>에서 <ORG> 직원을 만났다.",
        "<ORG>은 어제 <LOC> 지점을 열었다.",
        "<PER>와 <PER>는 함께 <LOC>로 떠났다.",
        "비가 와서 아무 일도 없었다.",
    ],
    "de": [
        "<PER> fuhr mit <ORG> nach <LOC>.",
        '"In <LOC> bleibt alles gleich", sagte <PER>.',
        "<ORG> und <ORG> ziehen nach <LOC>, heißt es.",
        "Es regnete, sonst geschah nichts.",
    ],
    "fr": [
        "<PER> travaille pour <ORG> depuis un an.",
        "<ORG> ferme son agence de <LOC>, selon <PER>.",
        '"Rien de nouveau", dit <PER> avant de quitter <LOC>.',
        "Il a plu toute la nuit.",
    ],
    "es": [
        "<PER> viajó a <LOC> con <ORG>.",
        "<ORG> abrirá una oficina en <LOC>, dijo <PER>.",
        'El lunes <PER> llegó a <LOC>: "todo bien".',
        "Llovió y no pasó nada más.",
    ],
    "ru": [
        "<PER> работает в компании <ORG>.",
        "Вчера <ORG> открыл офис в городе <LOC>, пишет <PER>.",
        "<PER> и <PER> уехали, город <LOC> опустел.",
        "Шёл дождь, и больше ничего не было.",
    ],
    "ja": [
        "<PER>さんは<LOC>で<ORG>の社員に会った。",
        "<ORG>は昨日<LOC>に支店を開いた。",
        "<PER>さんと<PER>さんは<LOC>へ出発した。",
        "雨が降り、何も起きなかった。",
    ],
    "zh": [
        "<PER>在<LOC>遇到了<ORG>的员工。",
        "<ORG>昨天在<LOC>开了分店。",
        "<PER>和<PER>一起离开了<LOC>。",
        "下雨了,什么也没发生。",
    ],
}
LANGUAGES = tuple(NAMES)
Span = tuple[int, int, str]  # first character, character after the last, type


@dataclass(frozen=True)
class Told:
    """A text with the places of its entities."""

    text: str
    spans: tuple[Span, ...]

    @property
    def words(self) -> list[tuple[str, int]]:
        """Words and punctuation, each with its place."""
        return [(found[0], found.start()) for found in re.finditer(r"\w+|[^\w\s]", self.text)]

    @property
    def tags(self) -> list[str]:
        """The tag of each word in IOB2."""
        starts = {start: f"B-{kind}" for start, _, kind in self.spans}
        return [starts.get(at) or next((f"I-{k}" for s, e, k in self.spans if s < at < e), "O") for _, at in self.words]


def opinions(language: str, count: int, seed: int) -> list[str]:
    """Different texts of one to three sentences, as people write reviews and posts."""
    draw = random.Random(f"opinions {language} {seed}")
    parts = PARTS[language]
    found: dict[str, None] = {}
    while len(found) < count:
        sentences = [_sentence(language, [draw.choice(some) for some in parts]) for _ in range(draw.randint(1, 3))]
        found[("" if language in ("ja", "zh") else " ").join(sentences)] = None
    return list(found)


def _sentence(language: str, parts: list[str]) -> str:
    if language in ("ja", "zh"):
        return "".join(parts)
    return re.sub(r" (?=,)", "", " ".join(parts))


def told(language: str, count: int, seed: int) -> list[Told]:
    """Sentences with entities, one of them in most."""
    draw = random.Random(f"facts {language} {seed}")
    return [_filled(language, draw.choice(FACTS[language]), draw) for _ in range(count)]


def _filled(language: str, fact: str, draw: random.Random) -> Told:
    names = dict(zip(("PER", "LOC", "ORG"), NAMES[language], strict=True))
    text, spans = "", []
    for piece in re.split(r"(<[A-Z]+>)", fact):
        if piece[:1] != "<":
            text += piece
            continue
        name = draw.choice(names[piece[1:-1]])
        spans.append((len(text), len(text) + len(name), piece[1:-1]))
        text += name
    return Told(text, tuple(spans))


def several(names: list[str], count: int, seed: int, *, most: int = 3) -> list[list[str]]:
    """Of each row one label or more, in the order of the names."""
    draw = random.Random(f"several {seed}")
    return [sorted(draw.sample(names, draw.randint(1, most)), key=names.index) for _ in range(count)]


def one_of(names: list[str], count: int, seed: int) -> list[str]:
    """A label for each row, each at least once, not all as often."""
    draw = random.Random(f"one {seed}")
    weights = [3, *[1] * (len(names) - 1)]
    drawn = [*names, *draw.choices(names, weights, k=count - len(names))]
    draw.shuffle(drawn)
    return drawn


def numbers(count: int, seed: int, low: float, high: float, digits: int = 1) -> Iterator[float]:
    """Numbers with so many digits after the point."""
    draw = random.Random(f"numbers {seed}")
    return (round(draw.uniform(low, high), digits) for _ in range(count))
