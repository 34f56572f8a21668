"""Parts of a person's words: rules, folders, kinds of file, names in code, a report's name.

Pure functions of a text, in English and Chinese. Not here: what is asked for (intents).
"""

import re

_FLAGS = re.IGNORECASE | re.ASCII
"""ASCII: in Chinese text a word ends where Chinese begins."""
_STATED = re.compile(
    r"^\W*(?:rules?|constraints?|decisions?|conventions?|remember|note|important)\b\W*[:：]|"
    r"^\W*(?:规则|约束|约定|要求|决定|决策|注意|记住)\W*[:：]",
    _FLAGS,
)
_MEANT = re.compile(
    r"^\W*(?:always|never|from now on|do not|don't|remember (?:that|to)|keep in mind|make sure)\b|"
    r"\bmust\b|\bshall\b|^\W*(?:记住|务必|永远|始终|总是|不要|绝不|切勿|请始终|请务必|请记住)|必须|不得",
    _FLAGS,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n+")
_LANGUAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bpython\b|\bpy\b|(?<![\w/])\*?\.py\b", ("py",)),
    (r"\btypescript\b|\bts (?:files?|文件)|(?<![\w/])\*?\.tsx?\b", ("ts", "tsx")),
    (r"\bjavascript\b|\bjs (?:files?|文件)|(?<![\w/])\*?\.jsx?\b", ("js", "jsx", "mjs")),
    (r"\bjava\b|(?<![\w/])\*?\.java\b", ("java",)),
    (r"\bgolang\b|\b(?-i:Go) (?:files|sources|文件|源)|(?<![\w/])\*?\.go\b", ("go",)),
    (r"\brust\b|(?<![\w/])\*?\.rs\b", ("rs",)),
    (r"\bkotlin\b|(?<![\w/])\*?\.kt\b", ("kt",)),
    (r"\bmarkdown\b|(?<![\w/])\*?\.md\b", ("md",)),
)
_NO_FOLDER_WORDS = """
this that the a an current same whole entire every each all any project projects workspace
working root top source sources code python java typescript javascript js ts go rust kotlin
markdown my your our its his given present here repo repository codebase following it one of
and or in file files detail order turn which single sub parent other new full complete package
module directory folder report name sequence depth parallel english chinese total general
there mind chunks batches pieces series succession particular place alphabetical one-by-one
one-after-another file-by-file step-by-step so-called passing short brief between writing
words prose please now again first sequentially individually
"""
_NO_FOLDER = set(_NO_FOLDER_WORDS.split())
_PATH = r"[A-Za-z0-9_.][\w.-]*(?:[/\\][\w.-]+)*"
_GLOB = re.compile(
    r"(?<![\w*:])(?:([\w./\\-]+)[/\\])?(?:\*\*[/\\])?\*"
    r"(?:\.(\w+|\{[\w, ]+\})|(?<=[/\\]\*)(?![\w*/\\]|\.\w))",
    re.ASCII,
)
"""agents/*.py, *.{ts,tsx}, src/**/*.go, docs/*: a folder, if any, and endings, if any."""
_STOPS = r"(?=\s*(?:[,.;:!?]|$|one\b|each\b|individually\b|and\b|then\b|file\b|by\b|in turn\b))"
_FOLDERS = (
    r"(?<![\w/.:*])((?:[A-Za-z0-9_.][\w.-]*[/\\])+[\w-]*)(?![\w*]|\.\w)",
    rf"[`'\"“「]({_PATH})[/\\]?[`'\"”」]\s*(?:sub)?(?:directory|folder|dir|package|tree|目录|文件夹|子目录|包|下|里|中)",
    rf"(?<![\w/.])({_PATH})\s+(?:sub-?)?(?:directory|folder|dir|package|subtree)\b",
    rf"\b(?:directory|folder|dir|package|目录|文件夹)\s+(?:named|called|叫|名为)\s*[`'\"“「]?({_PATH})",
    rf"(?:\b(?:directory|folder|dir|package)\s+|(?:目录|文件夹)\s*)[`'\"“「]({_PATH})",
    rf"\b(?:under|inside|within|below|beneath)\s+(?:the\s+)?[`'\"]?({_PATH})",
    rf"\b(?:in|from|of)\s+[`'\"]({_PATH})[/\\]?[`'\"]",
    r"\b(?:in|from)\s+(?:the\s+)?([A-Za-z]\w*[-_]\w[\w-]*)\b",
    rf"\b(?:in|from|(?:directory|folder|package)(?: of| at)?)\s+([A-Za-z]\w*){_STOPS}",
    rf"\b(?:read|open|review|through|over|of|folder|directory)\s+([A-Za-z]\w*[-_]\w[\w-]*){_STOPS}",
    rf"(?<![\w/.])({_PATH})\s*(?:目录|文件夹|子目录|包)",
    rf"(?<![\w/.])({_PATH})\s*(?:下|里|中|内)(?:面|边|部)?(?:的|所有|每)",
    rf"(?:目录|文件夹)\s*({_PATH})",
)
_FILE_NAME = re.compile(r"\.(?:py|ts|tsx|js|jsx|java|md|txt|rst|json|toml|go|rs|html)$", re.ASCII)
_REPORT = re.compile(
    r"(?:\b(?:write|produce|save|report|review|summary|to|into|as|named|called)|[写存到入为成叫告份])\s*"
    r"(?:\b(?:it|them|a|the|your|report|review|summary|file|to|into|as|named|called)\s+)*[:,(`'\"“「\s]*"
    r"(?!README)(?<![\w*/.])(\w[\w./-]*\.(?:md|txt|rst))\b",
    _FLAGS,
)
_QUOTED = re.compile(r"[`'\"“‘「]([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?[`'\"”’」]", re.ASCII)
_NAME = re.compile(r"(?<![\w./\\-])([A-Za-z_]\w*)(?![\w/\\-]|\.\w)", re.ASCII)
_LOOKS_LIKE_CODE = re.compile(
    r"[a-z0-9]*_\w+|[A-Z][A-Z0-9]*_\w*|[a-z]+[A-Z]\w*|[A-Z]{3,}\d*|(?:[A-Z][a-z0-9]+){2,}", re.ASCII
)
_NO_CODE_WORDS = """
FACT README JSON API TODO HTML XML URL SQL AND ALL NOT PLEASE EVERY TypeScript JavaScript JupyterLab
GitHub auto_compact micro_compact
"""
_NO_CODE = set(_NO_CODE_WORDS.split())
_NO_NAMES_WORDS = "i you we he she it they there this that are was were did can should"
_NO_NAMES = set(_NO_NAMES_WORDS.split())
_PAIR = re.compile(
    r"\b([A-Za-z_]\w*)\s+(?:everywhere\s+)?(?:to|into|as|by|with|=>|->|→)\s+"
    r"(?:the\s+name\s+)?([A-Za-z_]\w*)"
    r"|([A-Za-z_]\w*)\s*(?:重命名|改名|更名|替换|改|换|→|->)(?:为|成|叫)?\s*([A-Za-z_]\w*)",
    re.ASCII,
)
_AFTER = re.compile(
    r"\b(?:where|trace|track|follow|value of|origin of|find|definition of)\s+"
    r"(?:(?:is|does|do|the|a|an|value|of|name|constant|variable|setting|origin|where|down|out)\s+)*"
    r"([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:的值|在哪|是在哪|从哪|的来源|的定义)",
    _FLAGS,
)


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def rules_in(text: str) -> list[str]:
    """The sentences that state a rule, a decision or a constraint, word for word.

    >>> rules_in("Never touch vendor/. Read all files.")
    ['Never touch vendor/.']
    """
    return [part for part in sentences(text) if _STATED.search(part) or _MEANT.search(part)]


def without_rules(text: str) -> str:
    """The text without the sentences that state rules: what is left is what is asked for."""
    rules = rules_in(text)
    return " ".join(part for part in sentences(text) if part not in rules)


def without_stated_rules(text: str) -> str:
    """The text without the sentences that call themselves rules; "you must read ..." stays."""
    return " ".join(part for part in sentences(text) if not _STATED.search(part))


def endings_in(text: str) -> tuple[str, ...]:
    """The endings of the kinds of file that a text names; none where it names no kind.

    >>> endings_in("all TypeScript files"), endings_in("lib/*.ts")
    (('ts', 'tsx'), ('ts',))
    """
    globs = [match[2] for match in _GLOB.finditer(text) if match[2]]
    if globs:
        return tuple(dict.fromkeys(re.findall(r"\w+", " ".join(globs))))
    found = [endings for form, endings in _LANGUAGES if re.search(form, text, _FLAGS)]
    return tuple(dict.fromkeys(ending for endings in found for ending in endings))


def names_files(text: str) -> bool:
    """Whether a text names files by a pattern: that is a kind of file, and all of them.

    >>> names_files("lib/*.ts"), names_files("lib/ and 2 * 3")
    (True, False)
    """
    return bool(_GLOB.search(text))


def folder_in(text: str) -> str:
    """The folder that a text names, "." where it names none.

    >>> folder_in("Read every file in the agents/ directory"), folder_in("in this directory")
    ('agents', '.')
    """
    for form in (_GLOB.pattern, *_FOLDERS):
        for match in re.finditer(form, text, _FLAGS):
            folder = (match[1] or "").replace("\\", "/").removeprefix("/workspace/").strip("/")
            folder = folder.removeprefix("./").rstrip(".")
            if folder and folder.lower() not in _NO_FOLDER and not _is_no_folder(folder):
                return folder
    return "."


def _is_no_folder(path: str) -> bool:
    pair = {part.lower() for part in path.split("/")} & {"and", "or", "typescript", "javascript"}
    return bool(_FILE_NAME.search(path) or pair)


def report_in(text: str) -> str | None:
    """The name that a text gives the report, if it names one.

    >>> report_in("Review all files that README.md names and write a report, AUDIT.md.")
    'AUDIT.md'
    """
    match = _REPORT.search(text)
    return match[1].removeprefix("workspace/") if match else None


def names_in(text: str) -> tuple[str, ...]:
    """Names in code: quoted, or looking like code, or in the place where a name is expected.

    >>> names_in("rename MAX_SIZE to `limit`"), names_in("where is timeout set?")
    (('MAX_SIZE', 'limit'), ('timeout',))
    """
    quoted = {m.start(1): m[1].rpartition(".")[2] for m in _QUOTED.finditer(text)}
    plain = {
        m.start(1): m[1]
        for m in _NAME.finditer(text)
        if _LOOKS_LIKE_CODE.fullmatch(m[1]) and m[1] not in _NO_CODE
    }
    found = tuple(dict.fromkeys(name for _, name in sorted({**plain, **quoted}.items())))
    return found or _expected(text)


def _expected(text: str) -> tuple[str, ...]:
    if re.search(r"\bre-?nam|\breplac|重命名|改名|替换|改成|改为", text, _FLAGS):
        pairs = [[name for name in pair.groups() if name] for pair in _PAIR.finditer(text)]
        return next((tuple(pair) for pair in pairs if pair[0] != pair[1]), ())  # not "one by one"
    after = _AFTER.search(text)
    found = tuple(name for name in after.groups() if name) if after else ()
    return () if {name.lower() for name in found} & _NO_NAMES else found
