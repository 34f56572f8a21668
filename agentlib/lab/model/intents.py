"""What a person asks for: a task, from features of their words, in English and in Chinese.

No sentence is known by heart. A task is a verb, an object and how many of it; the rules a person
states are set aside first, so that "never write a report" is no request for one. Not here: how
the task is done (tasks, tracing, renaming).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agentlib.lab.model.unasked import (
    asks_for_translation,
    asks_for_work,
    denied,
    without_denials,
    without_looking_back,
    without_questions,
)
from agentlib.lab.model.words import (
    endings_in,
    folder_in,
    names_files,
    names_in,
    report_in,
    without_rules,
    without_stated_rules,
)

Kind = Literal["report", "read", "until", "compact", "trace", "rename", "rules", "unknown"]


@dataclass(frozen=True)
class Task:
    """What is asked for, and of what."""

    kind: Kind
    folder: str = "."
    endings: tuple[str, ...] = ()
    """File name endings without the dot; none: every text file."""
    names: tuple[str, ...] = ()
    """trace: the name; rename: the old and the new one."""
    report: str = "REPORT.md"
    focus: str = ""


_FLAGS = re.IGNORECASE | re.ASCII


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), _FLAGS)


_READ = _words(
    r"\b(?:re-?)?read(?:s|ing)?\b|\b(?:go|look|walk|run|work|page|leaf|sift|comb|step)(?:ing)? "
    r"(?:on |over |at |into |inside |your way )*(?:through|over|at|into|inside)\b",
    r"\byour way\b|\b(?:wad|gett?)(?:e|ing)? through\b",
    r"\b(?:examin|inspect|study|studi|scan|view|open|brows|analy[sz]|review|audit|assess|critiqu|"
    r"evaluat|check|explor|visit|load|pull|show|process|skim|digest|take in|consum|survey|cover|"
    r"describ|explain|perus|ingest|travers|consult|"
    r"document|summari[sz])\w*",
    r"读|阅|看|浏览|分析|审查|评审|检查|审核|审计|过一遍|扫描|点评|评估|查看|检视|打开|研究|梳理|走查|翻[阅看]",
)
_REVIEW = _words(
    r"\breport\w*|\breview\w*|\bcritiqu\w*|\baudit\w*|\bassess\w*|\bevaluat\w*|\bwrite[- ]?ups?\b|"
    r"\bsummari[sz]\w*|\bsummar(?:y|ies)\b|\boverview\b|\bdocument\w*|\bappraisal\w*|\bappraise\w*|"
    r"\bwrite[- ]up|\bwrite\b.{0,40}\b(?:about|on|for)\b|\bcomment on\b|"
    r"\b(?:produce|draft|compile|prepare)\b",
    r"写(?:出|一|下|成|份|个)|撰写|编写|生成|出具|形成|报告|审查|评审|审核|审计|点评|评估|评价",
    r"评论|评语|总结|汇总|汇报|综述|文档|意见|概述",
)
_EACH = _words(
    r"\bevery\w*|\beach\b|\ball\b|\bone (?:by|after|at)\b|\bin turn\b|\bindividually\b|\bentire\b|"
    r"\bwhole\b|\bthe (?:complete|full)\b|\bfile by file\b|\bany\b|\bone file\b|\bthe rest\b",
    r"每|所有|全部|逐|挨个|依次|各个|各文件|整个|一个个|一个一个|一个接一个|一一|全都|都|完整",
)
_BARE = _words(
    r"^\W*(?:(?:please|now|and|then|next|ok)\W+)*"
    r"(?:(?:the )?(?:every|each|all|any|one|whole|entire|files?)\b|file by file)",
    r"^(?=.*[一-龥])[\x00-\x7f，。、：；！？（）请麻烦从的下里中内上面这那该个份按顺序来次地吧接着逐挨依每所有全部各整一"
    r"文件源码代脚本模块类目录夹项工程仓库程]*$",
)
"""A request that begins with its object; in Chinese, one of no other words."""
_FILES = _words(
    r"\bfiles?\b|\bsources?\b|\bmodules?\b|\bscripts?\b|\bcode ?base\b|\bcode\b|\bclass(?:es)?\b|"
    r"\bfolder\b|\bdirector(?:y|ies)\b|\bpackages?\b|\bprojects?\b|\brepo(?:sitory)?\b",
    r"文件|源码|代码|模块|脚本|类|目录|项目|工程|仓库|源程序",
)
_SQUEEZE = _words(
    r"\b(?:auto|micro)?[-_ ]?compact(?:s|ed|ing|ion)?\b|\bcompress\w*|\bcondens\w*|"
    r"\bshrink\w*|\bsqueez\w*|\bsummari[sz]\w*",
    r"压缩|精简|压紧|缩减|浓缩",
)
_CONVERSATION = _words(
    r"\bconversation\b|\bcontext\b|\bhistory\b|\bchat\b|\bdialog(?:ue)?\b|\bsession\b|\bmanual\w*|"
    r"\bby hand\b|\bcompact(?:ion)? tool\b|\bcompact`? (?:now|please)\b|\bso far\b|\bwindow\b|"
    r"\bmessages\b|\bdiscuss\w*|\btalk\w*|\bmemory\b|\bwe(?:'ve| have)? (?:said|written|done)\b|"
    r"\b(?:use|call|invoke|run|with|through|via|using) (?:the )?[`'\"]?compact\b",
    r"对话|会话|上下文|历史|手动|聊|工具|人工|说过|谈|消息|前面|之前|以上|记忆",
)
_COMPACT_ADJECTIVE = _words(
    r"\b(?:compact|condensed|compressed) (?:\w+ )?"
    r"(?:report|review|summary|overview|table|list|form|write|version|document)\w*"
)
_SETTING = _words(
    r"\b(?:enabl|disabl|deactivat|configur)\w*|\b(?:turn|switch)(?:ing|ed)?\b.{0,30}\bo(?:n|ff)\b|"
    r"(?<!how )(?<!what )\b(?:about|regarding|concerning)\b (?!and\b|then\b|so\b)[^,;.!?]*"
    r"\b(?:compact|compress|condens)",
    r"关闭|关掉|启用|禁用|停用|开启|关于.{0,8}压缩",
)
"""Compaction is to be set up or written about, not done."""
_FILLER = _words(
    r"\b(?:please|now|then|and|it|this|that|them|\w+thing|all|what|we|have|our|us|you|can|could|"
    r"would|will|should|just|do|make|run|perform|trigger|start|go|ahead|time|to|a|an|another|one|"
    r"once|again|the|lets?|for|me|i|want|need|like|ok|okay|here|yourself|above|immediately|"
    r"is|it's|up|down|is|way|automatic|context)\b|'s\b",
    r"[请麻烦现在帮我们一下吧了来进行做次个再立即马上把它都先给需要开始可以能吗您你该的得啊呀自己动手]",
)
_UNTIL = _words(
    r"\buntil\b|\btill?\b|\bup to the point\b|\bas long as\b|\bbefore\b|\bso long as\b|\bwhile\b|"
    r"\btrigger\w*|\bkicks? in\b|\bsets? in\b|\bfires?\b|\bautomatic\w*|\bwait for\b|"
    r"\bstop\w*\b.{0,12}\b(?:when|once|as soon)\b|\b(?:by|of) itself\b|\bon its own\b",
    r"自行|自己(?:触发|发生|启动)|直到|直至|为止|触发|自动|才停|再停",
)
_ON = _words(r"\b(?:proceed|continu|carry on|go on|keep)\w*", r"继续|接着|往下")
_FULL = _words(
    r"\b(?:window|context)\b.{0,30}\b(?:full|fills?|overflow\w*|exhaust\w*|runs? out|limit)\b",
    r"(?:窗口|上下文).{0,8}(?:满|溢出|用完|上限)",
)
_RENAME = _words(
    r"\bre-?nam\w*|\breplac\w*|\bchang\w*|\bcall(?:ed)?\b|\bnew name\b|\bsubstitut\w*|\bswap\w*|"
    r"\bbecomes?\b|\bturn\b|\binstead of\b",
    r"重命名|改名|更名|替换|改成|改为|换成|换为|改叫|更改",
)
_TRACE = _words(
    r"\bwhere\b|\btrac(?:e|es|ed|ing)\b|\btrack\w*|\bfollow\w*|\bcom(?:e|es|ing) from\b",
    r"\borigin\w*|\bdefin\w*|\bassigned\b|\bvalue\b|\bsets?\b|\bstems?\b|\bderive[sd]?\b",
    r"在哪|哪里|哪个|何处|追踪|跟踪|追溯|溯源|来源|来自|定义|赋值|设置|的值|取值|从哪",
)
_RETRACE = _words(
    r"\bwhere\b|\btrac(?:e|ing)\b|\bvalue\b", r"在哪|哪里|何处|追踪|跟踪|追溯|的值|从哪"
)
_OTHER = _words(
    r"\b(?:delet|remov|creat|writ|mak|zip|fix|run|install|mov|copi|copy|translat|convert|format|add|"
    r"insert|refactor|count|compil|build|print|tell|push|commit|download|upload|list|find|search)\w*|"
    r"\b(?:how|what|which|where|why|who)\b",
    r"删|创建|新建|写|修|运行|安装|移动|复制|翻译|转换|格式化|添加|插入|重构|统计|编译|打印|下载|上传|列出|多少|什么|哪",
)
_FOCUS = re.compile(
    r"(?:focus(?:ing|ed)? on|focus[:：]|keep(?:ing)?|preserv(?:e|ing)|remember(?:ing)?|"
    r"retain(?:ing)?|重点(?:是|保留|关注)?|保留|关注|聚焦|记住)\s*[:：]?\s*(.+?)[.。!！]?\s*$",
    _FLAGS,
)
_DATA = re.compile(r"[!-~]{300,}")
"""A run of signs that holds no words, and would keep the patterns busy for minutes."""


@lru_cache(maxsize=256)
def task_of(request: str) -> Task:
    """The task that a request asks for.

    >>> task_of("Please read each Java file below src/main, one after another.")
    Task(kind='read', folder='src/main', endings=('java',), names=(), report='REPORT.md', focus='')
    """
    request = _DATA.sub("…", request)
    kind: Kind = "unknown"
    asked, names = "", ()
    for said in (without_rules(request), without_stated_rules(request)):
        asked = without_denials(without_looking_back(without_questions(said, _SQUEEZE)))
        kind, names = _kind(asked)
        if kind == _kind(denied(said))[0]:  # "don't shrink, compress or compact our chat"
            kind = "unknown"
        if kind != "unknown":
            break
    if kind == "unknown" and not without_rules(request) and not _forbids_a_task(request):
        return Task("rules")
    focus = _FOCUS.search(asked) if kind == "compact" else None
    return Task(
        kind,
        folder=folder_in(asked),
        endings=endings_in(asked),
        names=names,
        report=report_in(asked) or "REPORT.md",
        focus=focus[1].strip() if focus else "",
    )


def _forbids_a_task(request: str) -> bool:
    """Whether a text says not to do what a task does: no rule on how to do one."""
    text = denied(without_stated_rules(request))
    return _kind(text)[0] != "unknown" or bool(_READ.search(text) and _FILES.search(text))


def _kind(asked: str) -> tuple[Kind, tuple[str, ...]]:
    names, pattern = names_in(asked), names_files(asked)
    each, files = pattern or _EACH.search(asked), pattern or _FILES.search(asked)
    reads = bool(_READ.search(asked) and files and (each or _plural(asked)))
    if asks_for_translation(asked):
        return "unknown", ()
    if len(names) >= 2 and _RENAME.search(asked):
        return "rename", names[:2]
    if asks_for_work(asked):
        return "unknown", ()
    if squeezed := _squeezes(asked, reads):
        return squeezed, ()
    if names and _TRACE.search(asked) and (not reads or _RETRACE.search(asked)):
        return "trace", names[:1]
    # "Every Python file in agents/, one at a time, please": no verb at all, and no other one.
    bare = _BARE.search(asked) and not _OTHER.search(asked) and not _SQUEEZE.search(asked)
    if reads or (files and each and (_REVIEW.search(asked) or bare)):
        return ("report" if _REVIEW.search(asked) else "read"), ()
    return "unknown", ()


def _plural(asked: str) -> bool:
    return bool(
        re.search(
            r"\b(?:files|modules|sources|scripts|classes)\b|文件|源码|代码|脚本", asked, _FLAGS
        )
    )


def _squeezes(asked: str, reads: bool) -> Kind | None:
    """Reading on until the conversation is compacted, compacting it now, or neither."""
    plain = _COMPACT_ADJECTIVE.sub("", asked)
    if _SETTING.search(plain):
        return None
    squeeze, until = _SQUEEZE.search(plain), _UNTIL.search(plain)
    reads_on = _READ.search(plain) or (_ON.search(plain) and _FILES.search(plain))
    if until and reads_on and (squeeze or _FULL.search(plain)) and not _by_hand(plain):
        return "until"
    if squeeze and _CONVERSATION.search(plain):
        return "compact"
    return "compact" if squeeze and not reads and not _says_more(plain) else None


def _says_more(asked: str) -> bool:
    """Whether an order to squeeze names a thing: "compress a.zip" is not "please compress now"."""
    rest = _FOCUS.sub("", asked)
    for known in (_SQUEEZE, _FILLER):
        rest = known.sub("", rest)
    return bool(re.search(r"\w", rest))


def _by_hand(asked: str) -> bool:
    return bool(re.search(r"\bmanual|\bby hand\b|\bcompact`?'?\"? tool\b|手动|工具", asked, _FLAGS))
