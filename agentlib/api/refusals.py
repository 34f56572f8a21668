"""How an API refuses a prompt for its size, in the words of many providers."""

import re

_TOO_LONG = re.compile(
    # The first-party API: https://github.com/anthropics/claude-code/issues/228
    r"prompt is too long|exceed context limit|"
    # OpenAI: https://github.com/crewAIInc/crewAI-examples/issues/121,
    # https://github.com/cline/cline/issues/5474
    # vLLM: https://github.com/vllm-project/vllm/issues/20409
    r"maximum context length|exceed the configured limit|context_length_exceeded|"
    # Bedrock: https://github.com/aws-samples/bedrock-chat/issues/95
    # Gemini: https://github.com/google-gemini/gemini-cli/issues/6678
    # Kimi: https://github.com/MoonshotAI/kimi-cli/issues/1809
    r"input is too long|input token count|exceeded model token limit|"
    # llama.cpp: https://github.com/ggml-org/llama.cpp/pull/15780
    r"(?:\(\d+ tokens\) )?exceeds the available context size|"
    # LM Studio: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546,
    # https://github.com/tinyhumansai/openhuman/issues/3550
    r"trying to keep the first|greater than the context length|"
    # Cohere: https://github.com/cohere-ai/sandbox-topically/issues/4
    # xAI: https://github.com/cline/cline/issues/3120
    r"too many tokens: total|maximum prompt length|"
    # TGI: https://github.com/huggingface/text-generation-inference/issues/628 and 695
    r"`inputs` tokens \+ `max_new_tokens` must|`inputs` must have less",
    re.IGNORECASE,
)
"""The words in which providers refuse a prompt for its size. Its size and its limit
follow, in either order, if they are named at all."""


_READ = 10_000
"""Characters of a refusal that are read. The reason stands at its beginning."""


def excess(error: Exception) -> float:
    """Return how many times its limit a prompt was that the API refused for its size.

    The result is 1.5 if the refusal names no sizes, and 0.0 for any other error.

    >>> class Refusal(Exception):
    ...     status_code = 400
    >>> excess(Refusal("prompt is too long: 36000 tokens > 32000 maximum"))
    1.125
    """
    limit, size = refused_sizes(error)
    return size / limit if limit else 0.0


def refused_sizes(error: Exception) -> tuple[int, int]:
    """Return the limit and the size that a refusal of a prompt for its size names.

    That is (2, 3) if it names none, and (0, 0) for any other error.
    """
    # The API and TGI add up the prompt and the room for the reply: "36000 + 4000 >
    # 32000".
    both = r"(\d+) (?:\+|`inputs` tokens and) (\d+)"
    text = re.sub(both, lambda sum: str(int(sum[1]) + int(sum[2])), str(error)[:_READ])
    status = getattr(error, "status_code", None)
    words = _TOO_LONG.search(text)
    if status != 413 and not (status and words):
        return 0, 0
    sizes = (
        re.findall(r"(?<![\w-])\d{3,}(?![\w-])", text[words.start() :][:200])
        if words
        else []
    )
    limit, size = sorted(map(int, sizes[:2])) if len(sizes) > 1 else (2, 3)
    return limit, size
