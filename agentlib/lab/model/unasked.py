"""What a person says without asking for it: denials, questions about a topic, work on code.

"Don't compact", "what is compaction?" and "write tests for each file" hold the words of a task and
are none. Pure functions of a text, in English and Chinese. Not here: the tasks (intents).
"""

import re

from agentlib.lab.model.words import sentences

_FLAGS = re.IGNORECASE | re.ASCII
_CLAUSE = r"(?:(?!\b(?:but|instead)\b|[,;:!?，。；：！？\n]|\.(?:\s|$)).)*"
"""From here to the end of the clause; the full stop in a file's name doesn't end it."""
_TOGETHER = r"\b(?:at once|together|in parallel|in one go|in bulk|at the same time|just|only)\b"
_NOT_EN = (
    r"(?<!why )\b(?:do not|don['’]?t|never|no need to|(?:should|must|need)(?: not|n['’]t)|"
    r"(?:avoid|without)(?= (?:\w+ ){0,2}\w+ing\b))"
    r"(?! (?:ever )?(?:stop|forget|skip|miss|omit|leav|hesitat|wait|paus|quit|giv|fail|finish|end|"
    r"break|interrupt|exclud)\w*)"
    r"|^\W*(?:please )?stop(?= \w+ing\b)(?!.*\b(?:when|once|until|till|as soon)\b)"
)
_NOT_ZH = (
    r"(?:不要|请勿|切勿|不用|无需|不必|不需要|不许|不准|禁止|"
    r"(?<![分特个级类区识判差辨鉴])别(?![的人处名])|(?<!要)不(?=压缩|读|打开|审查))"
    r"(?!.{0,4}(?:停|忘|漏|跳|省略|中断|一次|同时|一起|只))"
)
_DENIAL = re.compile(rf"(?:{_NOT_EN}|{_NOT_ZH})(?!{_CLAUSE}{_TOGETHER})({_CLAUSE})", _FLAGS)
_POLITE = (
    r"(?:please|so|and|but|hey|hi|ok(?:ay)?|well|(?:can|could|would|will) you|"
    r"i (?:want|need|would like) to|i'd like to|help me(?: to)?)"
)
_QUESTION = re.compile(
    rf"(?:^|[,:;]\s|\s[-—]\s)\W*(?:{_POLITE}[\s,]+)*"
    r"(?:what\b(?! about)|how\b(?! about)|why\b(?! not| don['’]?t| do not)|who\b|which\b|"
    r"when (?:do|does|did|is|are|was|will|would|should)\b|"
    r"(?:is|was)\b(?! it possible| there a way)|(?:are|were|does|did|has)\b|"
    r"do (?:i|we|you(?! mind))\b|have (?:i|we|you)\b|should (?:i|we)\b|"
    r"(?:explain|define|describe)\b(?: to me)?"
    r"(?: (?:how|what|why|when)\b|(?!.*\b(?:until|files?)\b))|"
    r"(?:tell|show|teach) me (?:about|how|what|why|when|more)\b|(?:know|learn|understand)\b|"
    r"i (?:wonder|don['’]t understand)\b)"
    r"|\b(?:explanation|definition|meaning|introduction) (?:of|to)\b"
    r"|^(?!.*(?:直到|直至|为止|读到)).*(?:什么是|是什么|什么叫|什么意思|什么用|做什么|干什么|会.{0,8}什么|怎么|怎样|"
    r"如何|为何|为什么|是否|原理|含义|解释|介绍|区别|[了过].{0,6}(?:没有?|吗))",
    _FLAGS,
)
_LOOKING_BACK = re.compile(
    rf"^\W*(?:{_POLITE}[\s,]+)*(?:(?:which|what|how many|how much|when|why|where)\b.{{0,40}}\s)?"
    r"(?:did|have|had|has|were|was)\s+(?:you|we|i|it)\b"
    r"|(?:读|看|阅|审查|检查|写|处理)(?:过|完|好|了)+.{0,10}(?:哪些|哪几|多少|吗|没有|几个)|哪些文件|多少个?文件",
    _FLAGS,
)
_LANGUAGE = (
    r"(?:plain\s+)?(?:python|java ?script|type ?script|java|kotlin|golang|rust|ruby|php|swift|"
    r"scala|c\+\+|c#|cpp|csharp|(?-i:Go|JS|TS|C|Perl))(?!\w)"
)
"""A programming language; in lower case `go` or `ts` may be a name in the code."""
_ADDED = (
    r"(?:comments?(?! (?:on|about))|doc-?strings?|java-?docs?|js-?docs?|type[- ]hints?|"
    r"(?:type[- ])?annotations?|logging|tests?\b"
    r"(?! (?:report|review|file|module|class|script|folder|package)))\b"
)
_REPORT_WORDS = r"(?:reports?|reviews?|summar\w+|about|on|of|up)"
_DEED = (
    r"(?:^|[.,;:!?]\s*|"
    r"\b(?:and|then|please|just|also|me|let's|(?:want|need|like) (?:you )?to|you)\s+)"
)
_WORK = re.compile(
    r"\b(?:writ(?:e|ing)|add(?:ing)?|generat(?:e|ing)|creat(?:e|ing)|implement|draft|insert|put|give)"
    rf"(?:\s+(?!{_REPORT_WORDS}\b)[\w'-]+){{0,4}}\s+{_ADDED}"
    rf"|{_DEED}(?:re-?write|convert|translate|port|migrate|transpile|refactor|reformat|moderni[sz]e|"
    r"fix|debug)\b"
    r"|(?:加(?!载)|写|补|添|生成|编写)(?:(?!报告|审查|评审|总结)[^，。；,;]){0,12}"
    r"(?:注释|测试|文档字符串|类型(?:标注|注解|提示)|日志)(?!.{0,8}(?:报告|审查|评审|总结|意见))"
    r"|(?:改写|重写|重构|移植|翻译)(?!建议|意见|方案|的)",
    _FLAGS,
)
_TRANSLATION = re.compile(
    rf"\b(?:chang|transform|switch)\w*\b.{{0,80}}\b(?:to|into)\s+{_LANGUAGE}(?! files)"
    rf"|(?<!in )\b(?:turn|mak)\w*\b.{{0,80}}\binto\s+{_LANGUAGE}"
    rf"|[改换转变](?:换|写|变)?(?:成|为|到)\s*{_LANGUAGE}",
    _FLAGS,
)


def without_denials(text: str) -> str:
    """The text without what it says not to do; "don't stop" and "not all at once" deny no task.

    >>> without_denials("Read all files, but don't write a report.")
    'Read all files, but .'
    """
    return _DENIAL.sub("", text)


def denied(text: str) -> str:
    """What a text says not to do.

    >>> denied("Never compact it. Go on, without reading it again.")
    'compact it reading it again'
    """
    return " ".join(match[1].strip() for match in _DENIAL.finditer(text))


def without_questions(text: str, topic: re.Pattern[str]) -> str:
    """The text without the sentences that ask about a topic instead of asking for something.

    >>> without_questions("What is a cat? Feed the cat.", re.compile("cat"))
    'Feed the cat.'
    """
    parts = sentences(text.replace("?", "? "))
    return " ".join(p for p in parts if not (topic.search(p) and _QUESTION.search(p)))


def without_looking_back(text: str) -> str:
    """The text without the sentences that ask what was done.

    >>> without_looking_back("Which files did you read? Read them all.")
    'Read them all.'
    """
    parts = sentences(text.replace("?", "? ").replace("？", "？ "))
    return " ".join(part for part in parts if not _LOOKING_BACK.search(part))


def asks_for_translation(text: str) -> bool:
    """Whether code is to be put into another language: that renames nothing.

    >>> asks_for_translation("change Rust to Kotlin"), asks_for_translation("change rate to fee")
    (True, False)
    """
    return bool(_TRANSLATION.search(text))


def asks_for_work(text: str) -> bool:
    """Whether tests, comments or other code are to be written: no task of the offline model.

    >>> asks_for_work("Write tests for every file"), asks_for_work("Write a report on the tests")
    (True, False)
    """
    return bool(_WORK.search(text))
