"""Languages, the encodings that each is written in, and the letters of each, the most frequent first.

`encodings/legacy.py` detects the encoding of a text from these. Each encoding has a prior: the number of bits by which
it is less likely than Latin-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Script = Literal["Latin", "other", "Han"]


@dataclass(frozen=True, kw_only=True)
class Region:
    """Languages of one script by their names, and the encodings from before Unicode that they are written in.

    Letters of several kinds have spaces between them; `shares` of all letters are of each of these kinds.
    """

    script: Script
    encodings: Mapping[str, float]
    letters: Mapping[str, str]
    shares: tuple[float, ...] = (0.97,)


SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面"
    "起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体"
    "政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变"
    "四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完"
    "设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运"
)
TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面"
    "起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體"
    "政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變"
    "四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完"
    "設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運檔"
)
HIRAGANA = (
    "のいしたにをてとはがなでるれかすっこらまもりきうさくあそせけおよちんめどだみえ"
    "ろわじつねばやずひべふほげびごぼむゆょゃゅぐへぶぜぎぬぞぱぽづざぷぴぺぁぇぃぅ"
)
KATAKANA = (
    "ーンスルトリアイラックロシドジテマタフプグコムニレサナカメバキデパハビオモダ"
    "チミツウブュャョエボポガワセホベゴソィネペァォケノピギズユザヤヒヨゼゲェヘヌヴ"
)
KANJI = (
    "日人年大本中国一会出生時行者社事間分上前見手自地合学動用場方新今高気思力無話小下的部入内最体来作後回定面物意東私理金明表発目業化気全立同代言通成実"
    "対画現主度心当法名使取性映良何問知先楽子長三田月二"
)
HANGUL = (
    "이다는에가을의고를하은지기로한도서사대해그인나아자리어정부시스일수제전보있라과게주만장으상들소동원여연공안선년미화요없었했습니까거오무트비세야구경면우모"
    "조마내용저성위유말것신국좋영너더재르계문합드중개때치방타물와발교진식레관되러난분음터른건차음할행든입실같했못히돼생감날네많겠배"
)

REGIONS = (
    Region(
        script="Latin",
        encodings={"latin-1": 0, "cp1252": 0, "iso8859-15": 7, "mac-roman": 8, "cp850": 12, "cp437": 15},
        letters={
            "English": "etaoinsrhldcumfpgwybvkxjqzéèáñóöüíäçåàøãêôæâëïúßõîûòìùœ",
            "French": "esaitnrulodcmpévqfbghjàxèyêzçâîôùûkwœëïüæÿ",
            "German": "enisratdhulcgmobwfkzvüpäßjöyxq",
            "Spanish": "eaosrnidlctumpbgvyqóíhfáézjéñxúküw",
            "Portuguese": "aeosirdntmcuplvgqhfbãzçáéjxíêóõàúâôkwyü",
            "Italian": "eaionlrtscdupmvghfbqzàèùòìéxjkywîóú",
            "Catalan": "eaisrtnlodcumpvqbgfàhéjóíxèçyòzüúïkw·",
            "Dutch": "enatirodslghvkmubpwjczfxyëéqïóèüöáê",
            "Swedish": "eantrsildomkgväfhupåöbcyjxwézqàü",
            "Danish": "erntaidslogkmfvuphøbåæycjxwzéq",
            "Finnish": "aintesloukämvrjhypdögbfcwåšqxzž",
            "Icelandic": "arniestulðgmkfhvoáþíjdæbópyöéúýxcwzq",
            "Albanian": "ëetirnashukoljmpdqgbfvzyçxcw",
            "Irish": "aihnretocsldmgáíéuóbúfpvxwykjzq",
            "Breton": "eaonrtilduhszvgkmbpcwyjñfùêâôéx",
            "Afrikaans": "eiansrodtglkhwvumpbyfêcëjéôîzïûöüáóxq",
            "Estonian": "aiestlundkmorvägpõjhbüöfcšžyzxwq",
        },
    ),
    Region(
        script="Latin",
        encodings={"cp1250": 2, "iso8859-2": 3, "iso8859-16": 8, "cp852": 12, "mac-latin2": 14},
        letters={
            "Polish": "aioeznrwsctykdpmuljłgbhąęóżśćfńźvqx",
            "Czech": "oeantsvilkrdpímuázjyěcbhřýéčšžůfgúňxťóďwq",
            "Slovak": "aoeinrtsvlkdmpucházýbjíčžyšéťľúfgňôďxóäŕĺwq",
            "Hungarian": "eatlsnkzroiágéymdvbhjőpcuföíóüúűwxq",
            "Romanian": "eiarntulcospdmăîfvgbşţșțâzhjxkwyq",
            "Croatian": "aioenrtsjvukdmplzgbcčšžćhđfxywq",
            "Slovene": "eaionrslvjtkdpmzubgčhšcžfćđxywq",
            "Turkmen": "aeyilnrdmtgklsýpbuozçşäüöňhjwžf",
        },
    ),
    Region(
        script="Latin",
        encodings={"cp1257": 3, "iso8859-13": 4, "iso8859-4": 8, "iso8859-10": 8, "cp775": 12},
        letters={
            "Lithuanian": "iastenoruklmpdvjgėšybųįžąūfzčcęhxwq",
            "Latvian": "aistenrukoāmlpdvējīzgbcšūfļņhķģžčxyw",
            "Estonian": "aiestlundkmorvägpõjhbüöfcšžyzxwq",
        },
    ),
    Region(
        script="Latin",
        encodings={"cp1254": 3, "iso8859-9": 3.5, "cp857": 12, "mac-turkish": 12},
        letters={
            "Turkish": "aeinrlıkdmytsubohüşzvgcçpöğfjâîûwxq",
            "Azerbaijani": "aindlreısmyuktbzüşqoğvcçhxpfgöj",
        },
    ),
    Region(
        script="Latin",
        encodings={"cp1258": 5},
        letters={
            "Vietnamese": "nhticgaumolrđyápdsàkvbếôầộạơảêưấọốệúăớủíợểợậịềẫụóãờữựởéèòìùýýửộẩặỏừứẹõ"
            "ồỉẻẽằẳễũổỡẵắẳỗỳỹỵỷxeqwfjz"
            "\u0301\u0300\u0309\u0323\u0303",  # tones, which Windows-1258 keeps apart
        },
    ),
    Region(
        script="Latin",
        encodings={"iso8859-3": 12},
        letters={
            "Esperanto": "aieonrslutkmpdjgvcfbzĝhŭĉĵŝĥxwyq",
        },
    ),
    Region(
        script="Latin",
        encodings={"iso8859-14": 12},
        letters={
            "Welsh": "ayndreilogwfthsucmbpŵâôŷêîïöëáäjkv",
        },
    ),
    Region(
        script="other",
        encodings={
            "cp1251": 1,
            "koi8-r": 3,
            "koi8-u": 3.5,
            "iso8859-5": 5,
            "cp866": 6,
            "mac-cyrillic": 9,
            "cp855": 12,
            "kz1048": 4,
            "ptcp154": 6,
            "koi8-t": 6,
        },
        letters={
            "Russian": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
            "Ukrainian": "оанивітерсклудмпязьбгчйхцжїєюшщфґъыэ",
            "Bulgarian": "аеоитнрсвлдкмпузяъбгчжщйхцшюфьѝ",
            "Belarusian": "аныіреоктлсудвпмязцўьбчгшхжйеэёюф",
            "Serbian": "аоеинтрсудвкјмплзбгцчшжњћхљђџф",
            "Macedonian": "аоеинтрсвдкмплузјгбчшцќњжхфѓљџѕ",
        },
    ),
    Region(
        script="other",
        encodings={"cp1253": 2, "iso8859-7": 3, "cp737": 12, "mac-greek": 12},
        letters={
            "Greek": "ατοιενσρκπςμυλίόάγέδήωχηθύφβώξζψϊϋΐΰ",
        },
    ),
    Region(
        script="other",
        encodings={"cp1255": 2, "iso8859-8": 3, "cp862": 12},
        letters={
            "Hebrew": "יוהלאתרבמשנםדעקחפסכגןטצזךץף\u05b8\u05b4\u05b7",
        },
    ),
    Region(
        script="other",
        encodings={"cp1256": 2, "iso8859-6": 3},
        letters={
            "Arabic": "اليمنوترةبعدهسفحكقجأصشطىخإثذغضزظءئؤآ\u064b\u064e\u0651\u064f\u0650\u0640",
            "Persian": "ايرنهدمتوبسشکكيزگخفعقلآپجحصطچغذضثظژئءأؤ\u200c\u064b",
        },
    ),
    Region(
        script="other",
        encodings={"cp874": 3},
        letters={
            "Thai": "านรอก่เงมยลดว้ัตสิีทปบไคหแจพชใขะำืโูถุผึณ์ญศซ็ธภษฟฉฐฎฮๆฏฬฌฆ๊๋ฑฒ",
        },
    ),
    Region(
        script="Han",
        encodings={"gb18030": 1},
        letters={"Chinese": SIMPLIFIED, "Chinese (traditional)": TRADITIONAL},
        shares=(0.65,),
    ),
    Region(script="Han", encodings={"cp950": 1, "big5hkscs": 4}, letters={"Chinese": TRADITIONAL}, shares=(0.65,)),
    Region(
        script="Han",
        encodings={"cp932": 1, "euc-jp": 2},
        letters={"Japanese": f"{HIRAGANA} {KATAKANA} {KANJI}"},
        shares=(0.5, 0.2, 0.15),
    ),
    Region(script="Han", encodings={"cp949": 1, "johab": 8}, letters={"Korean": HANGUL}, shares=(0.8,)),
)
