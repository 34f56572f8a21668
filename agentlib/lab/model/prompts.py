"""Understand a person's prompt wholly, or refuse it.

The offline model has six tasks. Each has a table of phrases in English and Chinese. A prompt is
understood if the phrases of one task account for every word of it. Any other word leads to a
refusal that names it, because an exclusion or a second request must never get lost. Rules are
whole sentences. They are set aside first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["report", "read", "until", "compact", "trace", "rename", "rules", "unknown"]


@dataclass(frozen=True)
class Task:
    """A request that was understood, or the words that were not."""

    kind: Kind
    folder: str = "."
    endings: tuple[str, ...] = ()
    """File name endings without the dot. Empty: every text file."""
    names: tuple[str, ...] = ()
    """trace: the name. rename: the old and the new one."""
    report: str = "REPORT.md"
    focus: str = ""
    """compact: what to keep. rules: "summary" if the person asks for the summary."""
    unknown: tuple[str, ...] = ()
    """The words that no phrase accounts for."""


EXAMPLES = (
    ("read files and report", "Read every Python file one by one and write a report"),
    ("keep reading until compaction", "Keep reading files until compaction triggers"),
    ("find where a value is set", "Where is DEFAULT_TIMEOUT set?"),
    (
        "rename a name everywhere and run the tests",
        "Rename MAX_SIZE to SIZE_LIMIT everywhere and run the tests",
    ),
    ("use the compact tool", "Compact the conversation, focus on the rules"),
    (
        "say what a summary or a rule holds",
        "Rule: the first line of every report must be '# For Ada'.",
    ),
)
"""The six tasks, each with a prompt that is understood."""
EXAMPLES_ZH = (
    ("读文件并写报告", "逐个读取 src/ 目录下的所有 Python 文件，然后写一份报告"),
    ("一直读到触发压缩", "继续读取文件，直到自动触发压缩"),
    ("找出一个值在哪里设置", "找出 DEFAULT_TIMEOUT 在哪里设置"),
    ("在所有文件里重命名并运行测试", "把 MAX_SIZE 重命名为 SIZE_LIMIT，然后运行测试"),
    ("使用 compact 工具", "压缩对话，保留规则"),
    ("说出摘要或规则的内容", "规则：每份报告的第一行必须是 '# For Ada'。"),
)

_FLAGS = re.IGNORECASE | re.ASCII
"""ASCII: a word of Latin letters ends where Chinese begins."""
_START, _END = r"(?:(?<![\w/-])|(?=[一-龥]))", r"(?:(?![\w-])|(?<=[一-龥]))"
"""Where a phrase may begin and end: Chinese has no spaces."""
_LONGEST = 1_000
"""Characters of a request. A longer one holds pasted data, which no phrase accounts for."""


# -- rules ---------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n+")
_LABEL = re.compile(
    r"\W*(?:(?:an? |the |my )?(?:rule|constraint|decision|convention)s?\b[^:：,.]{0,30}|"
    r"规则|约束|约定|决定|决策)\s*[:：]",
    _FLAGS,
)
_DEED = re.compile(
    r"\b(?:read|open|look|list|skip|ignor|omit|exclud|includ|except|only|leav|compact|compress|"
    r"condens|summar|run|writ|report|review|find|trac|search|stop|renam|replac|edit|chang|modif|"
    r"touch|delet|translat|answer|repl[yi]|count|unless)|读|看|打开|跳过|忽略|除|只|仅|包括|包含|"
    r"压缩|运行|跑|写|报告|审查|找|追踪|停|改|编辑|删|重命名|翻译|回答",
    _FLAGS,
)
"""What a task does. A labelled rule about it can't be kept, so it isn't taken for a rule."""
_UNTOUCHED = re.compile(
    r"\W*(?:please |请)?(?:never|do not|don['’]t|不要|请勿|切勿|禁止|绝不) ?"
    r"(?:(?:edit|change|modify|touch|delete|rename|修改|改动|编辑|碰|删除)"
    r"(?: (?:any|the|anything|files?|code|names?|in|below|under|inside|within|folder|directory))* ?"
    r"[\w.-]+/[\w./-]*(?: (?:folder|directory))?(?: ?(?:目录|文件夹))?"
    r"(?: ?[里下中内]面?的?(?:任何|所有)?(?:文件|代码))?"
    r"|(?:rename|重命名) ?[`'\"]?((?-i:[A-Z]\w*)|\w*_\w*|(?<=[`'\"])\w+)[`'\"]?)\W*",
    _FLAGS,
)
"""A rule that a renaming keeps: a path that stays as it is, or a name."""
_LINE = re.compile(
    r"(?<!\w)[`'\"“‘「『]([^`'\"”’」』\n]+)[`'\"”’」』]|(#+ [^\n]*[^\n.。])", re.ASCII
)
_FIRST = re.compile(r"\b(?:first|begins?|starts?|opens?)\b|第一行|首行|开头|开始", _FLAGS)
_LAST = re.compile(r"\b(?:last|ends?|closes?)\b|最后一行|末行|结尾|结束", _FLAGS)
_ABOUT_A_LINE = re.compile(
    rf"(?:\W|(?:rule|for|all|that|follows|from|now|on|remember|always|to|please|the|a|an|line|of|in|"
    r"every|each|your|any|my|reports?|its|with|is|must|shall|should|be)\b|[规则请记住每份个所有的我报告都以"
    rf"用这行必须应该是为]|{_FIRST.pattern}|{_LAST.pattern})*",
    _FLAGS,
)
"""The words around the line in a rule on a line of the report."""


def sentences(text: str) -> list[str]:
    """Split a text into sentences and lines."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def rules_in(text: str) -> list[str]:
    """Return the sentences that state a rule, word for word.

    A rule asks for a line of the report, forbids to edit something, or is labelled as a rule.

    >>> rules_in("Never touch vendor/. Read all files.")
    ['Never touch vendor/.']
    """
    return _rules_and_rest(text)[0]


def without_rules(text: str) -> str:
    """Return the text without its rules, which is what the person asks for."""
    return " ".join(_rules_and_rest(text)[1])


def _rules_and_rest(text: str) -> tuple[list[str], list[str]]:
    parts: tuple[list[str], list[str]] = ([], [])
    for part in sentences(text):
        parts[not _is_rule(part)].append(part)
    return parts


def required_line(rules: Sequence[str], *, first: bool) -> str | None:
    """Return the line that the newest rule wants at the top or at the end of a report.

    >>> required_line(["The first line of every report must be '# For Ada'."], first=True)
    '# For Ada'
    """
    wanted, other = (_FIRST, _LAST) if first else (_LAST, _FIRST)
    for rule in reversed(rules):
        line, rest = _LINE.search(rule), _LINE.sub("", rule)
        if line and wanted.search(rest) and not other.search(rest):
            return (line[1] or line[2]).strip()
    return None


def _is_rule(part: str) -> bool:
    if len(part) > _LONGEST:
        return False
    label, rest = _LABEL.match(part), _LINE.sub("", part)
    if _UNTOUCHED.fullmatch(part[label.end() :] if label else part):
        return True
    if re.search("report|报告", rest) and _ABOUT_A_LINE.fullmatch(rest):
        return any(required_line([part], first=first) for first in (True, False))
    return bool(label) and not _DEED.search(rest)


# -- phrases -------------------------------------------------------------------------------------

_ENDINGS = {
    "python": ("py",),
    "py": ("py",),
    "typescript": ("ts", "tsx"),
    "ts": ("ts", "tsx"),
    "javascript": ("js", "jsx", "mjs"),
    "js": ("js", "jsx", "mjs"),
    "java": ("java",),
    "go": ("go",),
    "rust": ("rs",),
    "kotlin": ("kt",),
    "markdown": ("md",),
    "md": ("md",),
}
_KIND = rf"(?:\*?\.)?(?:{'|'.join(_ENDINGS)})"
_KINDS = rf"{_KIND}(?:(?:, ?| and | ?和 ?|、){_KIND})*"
_NOUN = rf"{_KINDS}(?: (?:source )?(?:file|module|script)| ?源?(?:文件|代码|模块|脚本))"
_FILE, _FILE_ZH = rf"(?:({_NOUN})|file)", rf"(?:({_NOUN})|文件)"
_DIR, _DIR_ZH = "(?:directory|folder|package)", "(?:目录|文件夹|包)"
_SLASHED = r"(?:\./|/workspace/)?((?:[\w.-]*\w/)+[\w-]*)(?![\w*/-]|\.\w)"
_KNOWN = (
    r"((?:src|lib|tests|docs|app|core|scripts|examples|agents|[A-Za-z]\w*_\w+|"
    rf"(?!(?:top|sub|root|third|non)-)[A-Za-z]\w*-[\w-]+(?= {_DIR}))(?![\w./-]*\w))"
)
"""Folders that need no slash. Any other word might be an adverb: `in German`, `in reverse`."""
_PLACE = (
    rf" (?:in|from|of|under|below|inside|within) (?:(?:the )?(?:{_SLASHED}|[`'\"“]([\w-]+)[`'\"”]|"
    rf"{_KNOWN})(?: {_DIR})?|(?:this|the|my|our|your)(?: current| whole| entire)? "
    rf"(?:{_DIR}|project|repo(?:sitory)?|workspace|codebase)|here)"
)
_PLACE_ZH = (
    rf"(?:在 ?)?(?:(?:{_SLASHED}|([\w-]+)(?= ?{_DIR_ZH})|{_KNOWN}) ?{_DIR_ZH}?"
    rf"|(?:(?:这个|当前|本|该|整个)?(?:{_DIR_ZH}|项目|工程|仓库)|这里))[下里中内]?面?的? ?"
)
_OBJECT = (
    rf"(?:{_PLACE_ZH})?(?:所有|每个|每一个|每份|全部|各个)的? ?{_FILE_ZH}"
    rf"|(?:(?:every|each)(?: single)? {_FILE}|(?:(?:each|all) of (?:the|these|my|our|your) |"
    rf"all (?:(?:the|these|my|our|your) )?|the |these |my |our )?{_FILE}s|everything)(?:{_PLACE})?"
    rf"|{_SLASHED}(?<=/)(?: {_DIR})?"
)
_BARE = rf"(?:{_PLACE_ZH})?{_FILE_ZH}"
_MANNER = (
    r"one[- ]by[- ]one|one at a time|one after (?:another|the other)|in turn|file by file|"
    r"individually|recursively|carefully|逐个|逐一|依次|挨个|一个一?个地?|一个接一个地?|一遍|仔细"
)
_MD = r"[`'\"“(]?(?!README)(\w[\w./-]*\.(?:md|txt|rst))[`'\"”)]?"
_NAME = (
    r"[`'\"“「]?(?!(?:it|its|this|that|they|them|the|i|you|we|all|every|each|an?|value|names?|is|"
    r"to|everything|files?|tests?|functions?|variables?|class|classes|modules?)\b)"
    r"([A-Za-z_]\w*)(?:\(\))?[`'\"”」]?(?![\w/-]|\.\w)"
)
_SORT = r"(?:the )?(?:(?:name|constant|variable|function|class|setting) )?(?:of )?"
_THROUGH = r"through (?:all )?(?:the )?files(?: to (?:its|the) (?:value|origin|source))?"
_CHAT = (
    r"(?:the |our |this |my )?(?:whole |entire |current )?"
    r"(?:conversation|context|chat|history|session)"
)
_CHAT_ZH = r"(?:当前|整个|这次|我们)?的?(?:对话|上下文|会话|聊天|历史)(?:记录)?"
_NO_FOCUS = (
    r"\b(?:then|to|it|\w+ing\b|read|writ|report|renam|run|find|trac|review|open|tell|not|no|don|"
    r"never|except|but|only|without|until|first|last|skip|ignor|\d)"
    r"|(?:,| and| or)(?! (?:and )?(?:the|all|my|our|your|\w*[^\Ws]s)\b)|"
    r"，|并|然后|再|读|写|报告|删|改|运行|找|审查|告诉|继续|除|不|别|只|仅|直到|跳过|忽略"
)
"""What would make a focus more than a list of things to keep."""
_FILLER = (
    r"please|pls|kindly|now|then|next|and|also|ok|okay|hi|hello|hey|thanks|thank you|"
    r"for (?:now|me)|(?:first|last|finally)(?=,)|(?:can|could|would|will) you|"
    r"you (?:must|should)|let['’]s|i(?: want| need| would like|['’]d like) you to|"
    r"[(（](?:watch|observe|观察)[^()（）]*[)）]|"
    r"请[你您]?|麻烦[你您]?|帮我|你好|您好|谢谢|现在|然后|接着|接下来|最后|首先|先|再|并且|并|把|将|都|"
    r"一下|吧|给我|我[想要][让请]?你|能不能|能否|可以|吗"
)


class _Form(NamedTuple):
    """The phrases of a task. Each occurs at most once, and one of `needs` must."""

    kind: Kind
    needs: Sequence[set[str]]
    phrases: Mapping[str, str]

    def scanner(self) -> re.Pattern[str]:
        parts = {**self.phrases, "filler": _FILLER}
        either = "|".join(f"(?P<{name}>{form})" for name, form in parts.items())
        return re.compile(rf"{_START}(?:{either}){_END}", _FLAGS)


_READ = {
    "report": rf"write {_MD}|"
    r"(?:write|produce|prepare|create|draft|give)(?: me)?(?: an?| the| your)?"
    r"(?: detailed| complete| full| code| overall| review)* (?:report|review|summary|overview)s?"
    rf"(?:(?:,? (?:to|into|in|as|called|named)|[,:])? {_MD})?"
    r"(?: (?:on|about|of|for)(?: (?:it|(?:all of )?them|each(?: one| of them| file)?|every file|"
    rf"what you (?:find|read))(?! ?\w))?)?"
    r"|(?:[为给]每个文件)?(?:写|撰写|编写|生成)[出成]?一?[份个篇]?(?:(?:详细|完整)的?)?(?:代码)?"
    rf"(?:审查报告|评审报告|总结报告|报告|总结)(?:(?:到|[，,]?(?:存|命名|名)为) ?{_MD})?",
    "target": rf"(?:save|write|put) (?:it|the report) (?:to|into|in|as) {_MD}",
    "bare": _BARE,
    "object": _OBJECT,
    "verb": r"read(?: through)?|(?:go|look|work|walk) (?:through|over)|look at|open|view|examine|"
    r"study|inspect|scan|browse|analy[sz]e|读取|阅读|通读|读|浏览|查看|打开|分析|研究|[过看](?=一遍)",
    "review": r"review|audit|assess|summari[sz]e|审查|评审|审阅|审核|总结",
    "manner": _MANNER,
}
_UNTIL = {
    "until": r"(?:until|till) (?:(?:the )?(?:automatic |auto[- ]?|context )*"
    r"(?:compaction|compression)(?: is)?(?: automatically)? "
    r"(?:triggers|triggered|kicks in|happens|occurs|starts|sets in)"
    rf"|{_CHAT} (?:is|gets) (?:automatically )?(?:compacted|compressed))"
    r"(?: automatically| by itself| on its own)?"
    r"|直[到至](?:自动)?(?:触发)?(?:自动)?(?:上下文|对话)?压缩(?:自动)?(?:被?触发|发生|启动|开始)?(?:为止)?",
    "object": rf"more {_FILE}s|file after file|{_BARE}|{_OBJECT}",
    "verb": r"(?:keep|continue|go on)(?: on)? reading|continue to read|read on|read"
    r"|(?:继续|一直|持续|不断)(?:读取|阅读|读)|读取|阅读|读",
    "manner": _MANNER,
}
_TRACE = {
    "follow": rf"(?:follow|trace|track) (?:it|(?:its|the|that) value)(?: back)?(?: {_THROUGH})?"
    rf"|{_THROUGH}|(?:一直)?(?:追踪|跟踪|跟)(?:它的值|到(?:最初|最终)的值|它)",
    "name": r"(?:(?:find|find out|show me|tell me|trace|see) )?where (?:(?:is|does|the value of) )*"
    rf"{_SORT}{_NAME}(?: is| gets)? (?:set|defined|assigned|comes? from)"
    rf"|(?:trace|follow|track|what(?: is|['’]s)) (?:down )?the (?:value|origin) of {_SORT}{_NAME}"
    rf"|(?:找出|找到|查找|看看|查)? ?{_NAME} ?(?:的值)?是?在?(?:哪里|哪儿|何处|哪个文件)[里中]?"
    rf"被?(?:设置|赋值|定义)的?|{_NAME} ?的值是?(?:从哪里来|来自哪里)的?"
    rf"|(?:追踪|跟踪) ?{_NAME} ?的值",
}
_RENAME = {
    "names": rf"rename {_SORT}{_NAME} (?:to|into|as|->|=>|→) {_NAME}"
    rf"|replace the (?:name|constant|variable|function|class) {_NAME} (?:by|with) {_NAME}"
    rf"|change the name (?:of )?{_SORT}{_NAME} to {_NAME}"
    rf"|{_NAME} ?(?:全部)?(?:重命名|改名|更名)[为成] ?{_NAME}",
    "where": r"everywhere|throughout|(?:in|across) (?:all(?: the)? files|every file|"
    r"the (?:whole|entire) (?:project|codebase))|所有文件都要改|到处"
    r"|在?(?:所有文件|整个项目)[里中]?",
    "tests": r"run (?:all )?(?:the |my |our )?tests(?: afterwards)?"
    r"|(?:运行|跑|执行)(?:一遍|所有|全部)?的?测试",
}
_COMPACT = {
    "focus": r"(?:with (?:a |the )?)?(?:focus(?:ing)? on|focus:|keep(?:ing)?|preserv(?:e|ing)|"
    r"remember(?:ing)?|重点(?:保留|关注|是)?[:：]?|保留|关注|聚焦于?|记住)"
    rf" ?((?:(?!{_NO_FOCUS})(?:[^.。!！?？;；\n]|\.(?=\w)))+)(?=[.。!！?？;；\s]*$)",
    "tool": r"(?:use|call|run|invoke|with|using) (?:the |your )?[`'\"]?compact[`'\"]?(?: tool)?"
    r"(?: to(?= (?:manually )?comp))?|(?:使用|用|调用) ?[`'\"]?compact[`'\"]? ?(?:工具)?来?",
    "order": rf"(?:manually )?(?:compact|compress|condense|shrink)(?: {_CHAT})?(?: so far)?"
    rf"(?: manually| by hand)?|(?:手动)?压缩(?:一[下次])?{_CHAT_ZH}(?:一[下次])?"
    rf"|{_CHAT_ZH}(?:手动)?压缩(?:一[下次])?|(?:手动)?压缩",
}
_RULES = {
    "rules": r"(?:what|which) rules (?:hold|apply|do you know)|what are (?:the|my) rules"
    r"|有(?:哪些|什么)规则|规则(?:是什么|有哪些)",
    "summary": r"what does the (?:last )?summary (?:say|hold|contain)"
    r"|what(?: is|['’]s) in the summary|摘要[里中]?[有写说]了?些?什么|摘要的内容是什么",
}
_FORMS = (
    _Form("read", ({"verb", "review", "report"}, {"object", "bare"}), _READ),
    _Form("until", ({"verb"}, {"until"}), _UNTIL),
    _Form("trace", ({"name"},), _TRACE),
    _Form("rename", ({"names"},), _RENAME),
    _Form("compact", ({"order", "tool"},), _COMPACT),
    _Form("rules", ({"rules", "summary"},), _RULES),
)
_SCANNERS = tuple((form, form.scanner()) for form in _FORMS)


# -- understanding -------------------------------------------------------------------------------

_GREETING = re.compile(rf"{_START}(?:{_FILLER}){_END}", _FLAGS)


@lru_cache(maxsize=256)
def understand(request: str) -> Task:
    """Return the one task that accounts for every word of a request, or kind "unknown".

    >>> task = understand("Please read every Java file in src/main one by one.")
    >>> task.kind, task.folder, task.endings
    ('read', 'src/main', ('java',))
    >>> understand("Read every Java file except the tests").unknown
    ('except', 'the', 'tests')
    """
    rules, rest = _rules_and_rest(request)
    asked = " ".join(" ".join(rest).split())
    if not asked or (rules and len(asked) <= _LONGEST and not _words(_GREETING.sub(" ", asked))):
        return Task("rules")
    readings = [_reading(form, scanner, asked) for form, scanner in _SCANNERS]
    # A refusal names what follows the part that was understood.
    best = min(readings, key=lambda task: [-asked.find(word) for word in task.unknown[:1]])
    kept = {match[1] for rule in rules if (match := _UNTOUCHED.search(rule))}
    return Task("unknown", unknown=best.names) if kept & set(best.names) else best


def _reading(form: _Form, scanner: re.Pattern[str], asked: str) -> Task:
    """Read a request as one kind of task. Words that are left over make it unknown."""
    text, tail = asked[:_LONGEST], asked[_LONGEST:]
    found = [match for match in scanner.finditer(text) if match.lastgroup != "filler"]
    parts = {str(match.lastgroup): [g for g in match.groups() if g][1:] for match in found}
    if left := _words(scanner.sub(" ", text) + (f" … {tail[:40]}" if tail else "")):
        return Task("unknown", unknown=left)
    if (
        all(group & set(parts) for group in form.needs)
        and len(found) == len(parts)
        and _agree(parts)
    ):
        return _task(form.kind, parts)
    return Task("unknown", unknown=_words(asked))


def _words(text: str) -> tuple[str, ...]:
    """The first dozen words of a text, without punctuation."""
    words = re.findall(r"[^\s,.;:!?，。；：！？、()（）'\"`“”‘’「」]+(?:['’.]\w+)*", text)
    return tuple(word[:40] for word in words[:12])


def _agree(parts: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether the phrases go together: `save it to` needs a report, for example."""
    names = {*parts.get("report", ()), *parts.get("target", ())}
    if "target" in parts and (len(names) > 1 or not {"report", "review"} & set(parts)):
        return False
    if "bare" in parts and ("object" in parts or "manner" not in parts):
        return False
    return len(set(parts.get("names", ()))) != 1


def _task(kind: Kind, parts: Mapping[str, Sequence[str]]) -> Task:
    if kind == "read" and {"report", "review"} & set(parts):
        kind = "report"
    folder, endings = _object([*parts.get("object", ()), *parts.get("bare", ())])
    return Task(
        kind,
        folder=folder,
        endings=endings,
        names=(*parts.get("name", ()), *parts.get("names", ())),
        report=next(iter([*parts.get("report", ()), *parts.get("target", ())]), "REPORT.md"),
        focus="summary" if "summary" in parts else "".join(parts.get("focus", ())).strip(),
    )


def _object(captures: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The folder and the endings that a phrase like `every Python file in src/` names."""
    folder, endings = ".", ()
    for text in captures:
        if re.fullmatch(_NOUN, text, _FLAGS):
            kinds = dict.fromkeys(re.findall(r"[a-z]+", text.lower()))
            endings = tuple(dict.fromkeys(e for kind in kinds for e in _ENDINGS.get(kind, ())))
        else:
            folder = text.strip("/")
    return folder, endings


def refusal(request: str, task: Task) -> str:
    """Return the words of a refusal: what was not understood, and the six tasks.

    >>> print(refusal("Sing!", understand("Sing!")).splitlines()[0])
    I am the offline model, and I did not understand: "Sing". I do nothing then.
    """
    words = ", ".join(f'"{word}"' for word in task.unknown) or "…"
    if re.search("[一-龥]", request):
        head = f"我是离线模型，没有听懂：{words}。我什么也不做，而不是去猜。"
        able, examples = "我会做六件事，文件夹的名字要带斜杠：", EXAMPLES_ZH
    else:
        head = f"I am the offline model, and I did not understand: {words}. I do nothing then."
        able, examples = "I can do six things. The name of a folder needs a slash.", EXAMPLES
    return "\n".join([head, able, *(f'- {what}: "{prompt}"' for what, prompt in examples)])
