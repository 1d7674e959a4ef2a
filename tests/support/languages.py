"""Reviews in many languages."""

import random

# Beginnings and endings of sentences: any two make one.
LANGUAGES = {
    "Chinese": (
        "这家餐厅的服务员|昨天晚上我们点的菜|新买的手机屏幕|那部电影的结尾|酒店的早餐|快递小哥",
        "让人非常满意。|比想象中差得多，不会再来了。|还可以，但是价格有点贵。|"
        "真的太好了，推荐给大家！|等了很久才有人处理问题。",
    ),
    "Chinese (traditional)": (
        "這家餐廳的服務員|昨天晚上我們點的菜|新買的手機螢幕|那部電影的結尾|飯店的早餐|送貨的先生",
        "讓人非常滿意。|比想像中差得多，不會再來了。|還可以，但是價格有點貴。|"
        "真的太好了，推薦給大家！|等了很久才有人處理問題。",
    ),
    "Japanese": (
        "このレストランの料理は|昨日見た映画は|新しいカメラは|駅前のホテルは|スタッフの対応は|朝ごはんは",
        "とてもおいしかったです。|思ったより良くありませんでした。|値段が少し高いと思います。|"
        "また行きたいです！|誰にでもおすすめできます。",
    ),
    "Korean": (
        "이 식당의 음식은|어제 본 영화는|새로 산 휴대폰은|역 앞의 호텔은|직원들의 태도는|아침 식사는",
        "정말 마음에 들었습니다.|생각보다 훨씬 별로였어요.|값이 조금 비싼 것 같아요.|"
        "꼭 다시 가고 싶다!|뷁같은 느낌이라 실망했다.",
    ),
    "Russian": (
        "Официант в этом кафе|Вчерашний фильм|Новый телефон|Номер в гостинице|Наш заказ|Подъезд дома",
        "очень нам понравился.|оказался гораздо хуже, чем мы ждали.|был холодным и невкусным.|"
        "просто отличный, ещё вернёмся!",
    ),
    "Ukrainian": (
        "Офіціант у цьому кафе|Учорашній фільм|Новий телефон|Номер у готелі|Ґанок будинку|Їхній обід",
        "дуже нам сподобався.|виявився значно гіршим, ніж ми чекали.|був холодним і несмачним.|"
        "просто чудовий, ще повернемося!",
    ),
    "Polish": (
        "Obsługa w tej restauracji|Wczorajszy film|Nowy telefon|Pokój w hotelu|Śniadanie|Źle działający ekran",
        "bardzo nam się podobał.|okazał się gorszy, niż myśleliśmy.|"
        "był zimny i niesmaczny, więc żałujemy.|zrobił świetne wrażenie!",
    ),
    "Turkish": (
        "Bu lokantanın yemekleri|Dün akşam izlediğimiz film|Yeni aldığım telefon|Oteldeki oda|"
        "İstanbul gezisi|Çalışanlar",
        "gerçekten çok güzeldi.|beklediğimizden daha kötü çıktı.|biraz pahalı ama değer.|"
        "hoşumuza gitmedi, bir daha gelmeyiz.",
    ),
    "Hebrew": (
        "האוכל במסעדה הזאת|הסרט שראינו אתמול|הטלפון החדש שלי|החדר במלון|השירות של הצוות|ארוחת הבוקר",
        "היה ממש טוב.|היה הרבה פחות טוב ממה שחשבנו.|קצת יקר אבל שווה.|לא מצא חן בעינינו ולא נחזור.",
    ),
    "Arabic": (
        "الطعام في هذا المطعم|الفيلم الذي شاهدناه أمس|الهاتف الجديد|الغرفة في الفندق|تعامل الموظفين|وجبة الإفطار",
        "كان ممتازا حقا.|كان أسوأ بكثير مما توقعنا.|غال قليلا ولكنه يستحق.|لم يعجبنا ولن نعود مرة أخرى.",
    ),
    "Greek": (
        "Το φαγητό στο εστιατόριο|Η ταινία που είδαμε χθες|Το καινούργιο τηλέφωνο|Το δωμάτιο|"
        "Άλλη μια φορά ο σερβιτόρος",
        "μας άρεσε πάρα πολύ.|ήταν πολύ χειρότερο από ό,τι περιμέναμε.|"
        "είναι λίγο ακριβό αλλά αξίζει.|δεν είχε καμία σχέση με τη φωτογραφία.",
    ),
    "German": (
        "Das Essen in diesem Gasthaus|Der Film von gestern|Das neue Gerät|Das Frühstück|"
        "Die Bedienung|Über das Zimmer gesagt: alles",
        "war wirklich schön.|hat uns überhaupt nicht gefallen.|ist größer als nötig, aber günstig.|"
        "können wir weiterempfehlen, süß und gemütlich.",
    ),
    "French": (
        "Le repas dans ce café|Le film d'hier soir|Ce nouveau téléphone|La chambre de l'hôtel|"
        "Le garçon|À vrai dire, la soirée",
        "nous a beaucoup plu, très bon goût.|était moins réussi que prévu.|"
        "a coûté trop cher, hélas.|m'a laissé sans voix: où est passé le maître d'hôtel?",
    ),
    "Spanish": (
        "La comida de este café|La película de anoche|El teléfono nuevo|La habitación del señor|"
        "El desayuno español|¿Será que el niño",
        "nos gustó muchísimo.|resultó peor de lo que esperábamos.|"
        "está un poco caro, pero vale la pena.|no volverá jamás el próximo año?",
    ),
}


def sentences(language: str, count: int, seed: int) -> list[str]:
    """Reviews in a language, in another order for each seed."""
    generator = random.Random(f"{language} {seed}")
    beginnings, endings = (part.split("|") for part in LANGUAGES[language])
    between = "" if language.startswith(("Chinese", "Japanese")) else " "
    return [f"{generator.choice(beginnings)}{between}{generator.choice(endings)}" for _ in range(count)]
