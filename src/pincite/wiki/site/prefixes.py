"""Names that Wikimedia's wikis go by: languages, interwiki prefixes, hosts, special pages.

Facts of Wikimedia's site matrix (2026). A language that is younger than this list is still reached
by its full address.
"""

import re

WIKIMEDIA = frozenset(
    "wikipedia.org wiktionary.org wikibooks.org wikinews.org wikiquote.org wikisource.org "
    "wikiversity.org wikivoyage.org wikimedia.org wikidata.org mediawiki.org".split()
)

# "en.m.wikipedia.org", "m.wikidata.org": what stands before and after the m.
MOBILE = re.compile(r"((?:[\w-]+\.)?)m\.([\w-]+\.org)")

LANGUAGES = frozenset(
    "aa ab ace ady af als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az "
    "azb ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy "
    "br bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da "
    "dag de dga din diq dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj "
    "fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gu guc gur guw gv ha "
    "hak haw he hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu "
    "ja jam jbo jv ka kaa kab kaj kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh "
    "ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv mad mai "
    "map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na "
    "nah nan nap nds nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nup nv ny oc olo om or os "
    "pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup "
    "roa-tara rsk ru rue rw sa sah sat sc scn sco sd se sg sh shi shn shy si simple sk skr sl "
    "sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy tdd te tet tg th ti tig "
    "tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo wa war "
    "wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu".split()
)

# Prefix → host; a star is the language of the wiki where the link stands.
PROJECTS = {
    **dict.fromkeys(("w", "wikipedia"), "*.wikipedia.org"),
    **dict.fromkeys(("wikt", "wiktionary"), "*.wiktionary.org"),
    **dict.fromkeys(("b", "wikibooks"), "*.wikibooks.org"),
    **dict.fromkeys(("n", "wikinews"), "*.wikinews.org"),
    **dict.fromkeys(("q", "wikiquote"), "*.wikiquote.org"),
    **dict.fromkeys(("s", "wikisource"), "*.wikisource.org"),
    **dict.fromkeys(("v", "wikiversity"), "*.wikiversity.org"),
    **dict.fromkeys(("voy", "wikivoyage"), "*.wikivoyage.org"),
    **dict.fromkeys(("c", "commons"), "commons.wikimedia.org"),
    **dict.fromkeys(("m", "meta"), "meta.wikimedia.org"),
    **dict.fromkeys(("d", "wikidata"), "www.wikidata.org"),
    **dict.fromkeys(("mw", "mediawikiwiki"), "www.mediawiki.org"),
    **dict.fromkeys(("species", "wikispecies"), "species.wikimedia.org"),
}

# Paths in place of /wiki/ that show an article in another script or spelling.
VARIANTS = frozenset(
    "zh-cn zh-hk zh-mo zh-my zh-sg zh-tw zh-hans zh-hant zh sr-ec sr-el sr-cyrl sr-latn kk-arab "
    "kk-cyrl kk-latn ku-arab ku-latn tg-cyrl tg-latn uz-cyrl uz-latn crh-cyrl crh-latn iu-cans "
    "iu-latn gan-hans gan-hant shi-latn shi-tfng".split()
)

# The namespace of special pages, in the languages whose addresses are met most.
SPECIAL = frozenset(
    "special spezial spécial especial speciale speciaal specjalna spesial speciális speciální "
    "служебная спеціальна спэцыяльныя специални посебно posebno toiminnot özel đặc_biệt "
    "istimewa eriline specialus พิเศษ ειδικό מיוחד خاص ویژه विशेष 特別 特殊 特殊頁面 특수 "
    "kerfissíða speciel špeciálne".split()
)

# Hosts that only lead on to another.
LEADS_TO = {
    "wikipedia.org": "en.wikipedia.org",
    "www.wikipedia.org": "en.wikipedia.org",
    "wikidata.org": "www.wikidata.org",
    "mediawiki.org": "www.mediawiki.org",
}
