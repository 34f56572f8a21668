"""Made-up keys of ninety real shapes, and texts that only look like keys.

Each is put together from parts, so that no scanner takes this file for a leak.
"""

import hashlib
import random
import string
from collections.abc import Iterator

_R = random.Random(7)
_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_UUID = "3f786850-e387-550f-dab8-36ed7e6dc881"


def _any(count: int, alphabet: str = _LETTERS) -> str:
    return "".join(_R.choice(alphabet) for _ in range(count))


def _hex(count: int) -> str:
    return _any(count, _HEX)


def shapes() -> Iterator[tuple[str, str]]:
    """Yield an issuer and a key as it stands in a file, the part in { } being the
    secret."""
    yield from (
        ("Anthropic", "sk-" + f"ant-api03-{_any(90)}"),
        ("OpenAI", "sk-" + _any(48)),
    )
    yield from (
        ("OpenAI project", "sk-" + f"proj-{_any(60)}"),
        ("OpenAI", "sk-" + f"svcacct-{_any(50)}"),
    )
    yield from (
        ("OpenRouter", "sk-" + f"or-v1-{_hex(64)}"),
        ("GitHub", "ghp" + f"_{_any(36)}"),
    )
    yield from (("GitHub", "gho" + f"_{_any(36)}"), ("GitHub", "ghs" + f"_{_any(36)}"))
    yield from (("GitHub", "ghu" + f"_{_any(36)}"), ("GitHub", "ghr" + f"_{_any(36)}"))
    yield ("GitHub", "github" + f"_pat_{_any(22)}_{_any(59)}")
    for kind in ("pat", "rt", "ptt", "dt", "cbt"):
        yield ("GitLab", f"gl{kind}" + f"-{_any(20)}")
    yield from (("AWS", "AKIA" + _any(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),)
    yield from (("AWS", "ASIA" + _any(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),)
    yield ("AWS", "aws_secret_access_" + f"key = {{{_any(40)}}}")
    yield ("AWS", '"AWSSecret' + f'Key": "{{{_any(40)}}}"')
    for kind in "bpars":
        yield ("Slack", f"xox{kind}" + f"-{_any(12, string.digits)}-{_any(24)}")
    yield (
        "Slack app",
        "xapp" + f"-1-A{_any(10, string.digits)}-{_any(13, string.digits)}-{_hex(64)}",
    )
    yield (
        "Slack webhook",
        "https://hooks.slack" + f".com/services/T{_any(8)}/B{_any(8)}/{_any(24)}",
    )
    yield from (
        ("Stripe", "sk" + f"_live_{_any(24)}"),
        ("Stripe", "rk" + f"_test_{_any(24)}"),
    )
    yield ("Stripe webhook", "whsec" + f"_{_any(32)}")
    yield from (("Google", "AIza" + _any(35)), ("Google", "GOCSPX" + f"-{_any(28)}"))
    yield from (
        ("Google", "ya29" + f".{_any(60)}"),
        ("PyPI", "pypi" + f"-AgEIcHlwaS5vcmc{_any(80)}"),
    )
    yield ("SendGrid", "SG" + f".{_any(22)}.{_any(43)}")
    yield from (("Twilio", "SK" + _hex(32)), ("Twilio", "AC" + _hex(32)))
    yield from (
        ("DigitalOcean", "dop" + f"_v1_{_hex(64)}"),
        ("npm", "npm" + f"_{_any(36)}"),
    )
    yield ("npm", "//registry/:_auth" + f"Token={{{_UUID}}}")
    yield from (
        ("Hugging Face", "hf" + f"_{_any(34)}"),
        ("Docker", "dckr" + f"_pat_{_any(27)}"),
    )
    yield ("JSON web token", "eyJ" + f"{_any(20)}.eyJ{_any(40)}.{_any(43)}")
    yield (
        "PostgreSQL",
        "postgres" + f"ql://ada:{{{_any(16)}}}@db.example.org:5432/app",
    )
    yield ("MongoDB", "mongodb" + f"+srv://ada:{{{_any(16)}}}@cluster.example.org")
    yield ("Redis", "redis" + f"://:{{{_any(20)}}}@cache:6379/0")
    yield ("SQLAlchemy", "mysql" + f"+pymysql://ada:{{{_any(12)}}}@db/app")
    yield ("Basic", "Authorization: Ba" + f"sic {{{_any(24)}}}==")
    yield ("Bearer", '"authorization": "Bea' + f'rer {{{_any(40)}}}"')
    yield ("Sentry", "https://" + f"{_hex(32)}@o1.ingest.sentry.io/42")
    yield ("Azure", "Account" + f"Key={{{_any(86)}}}==")
    yield from (
        ("Databricks", "dapi" + _hex(32)),
        ("Shopify", "shpat" + f"_{_hex(32)}"),
    )
    yield from (
        ("Vault", "hvs" + f".{_any(90)}"),
        ("Telegram", "123456789" + f":AA{_any(33)}"),
    )
    yield ("Discord", "M" + f"{_any(24)}.{_any(6)}.{_any(30)}")
    yield from (("Groq", "gsk" + f"_{_any(52)}"), ("xAI", "xai" + f"-{_any(80)}"))
    yield from (
        ("Replicate", "r8" + f"_{_any(37)}"),
        ("Notion", "ntn" + f"_{_any(46)}"),
    )
    yield (
        "private key",
        "-----BEGIN RSA PRI" + f"VATE KEY-----\n{_any(64)}\n{_any(64)}\n",
    )
    base64 = _LETTERS + "+/"
    yield ("Bedrock", "ABSK" + _any(128, base64) + "==")
    yield ("Bedrock", "bedrock-api-" + f"key-YmVkcm9jay5hbWF6b25hd3MuY29t{_any(200)}=")
    yield ("Atlassian", "ATATT3" + f"xFfGF0{_any(180)}={_hex(8)}")
    yield ("Bitbucket", "ATCTT3" + f"xFfGN0{_any(180)}={_hex(8)}")
    for kind in ("pt", "sk"):
        yield ("LangSmith", "lsv2" + f"_{kind}_{_hex(32)}_{_hex(10)}")
    yield from (
        ("Tavily", "tvly" + f"-{_any(32)}"),
        ("Tavily", "tvly" + f"-dev-{_any(32)}"),
    )
    yield from (
        ("Fly", "fm2" + f"_{_any(300, base64)}="),
        ("Fly", "fo1" + f"_{_any(43)}"),
    )
    yield from (
        ("Langfuse", "sk-" + f"lf-{_UUID}"),
        ("Together", "tgp_v1" + f"_{_any(43)}"),
    )
    yield from (
        ("Pinecone", "pcsk" + f"_{_any(64)}"),
        ("Jina", "jina" + f"_{_any(60)}"),
    )
    yield from (("Netlify", "nfp" + f"_{_any(36)}"), ("Alibaba", "LTAI" + _any(20)))
    yield ("RubyGems", "rubygems" + f"_{_hex(48)}")
    yield ("Heroku", "HRKU-" + f"AA{_any(58)}")
    yield ("Mapbox", "sk" + f".eyJ{_any(60)}.{_any(22)}")
    for name in (
        "NAME_TOKEN",
        "CLIENT_SECRET",
        "OPENAI_API_KEY",
        "SIGNING_PRIVATE_KEY",
    ):
        yield (name, f"{name}" + f"={{{_any(40)}}}")
        yield (name, f'"{name}"' + f': "{{{_any(32)}}}"')
    yield ("password", f"DB_PASSWORD={{{_any(16)}}}")
    yield ("Cloudflare", f"CF_API_TOKEN={{{_any(40)}}}")


LOOKALIKES = [
    "git commit 3f786850e387550fdab836ed7e6dc881de23001b",
    _UUID,
    hashlib.sha256(b"x").hexdigest(),
    "sk-learn-contrib, sk-ant-short, risk-" + "ant-hill-of-many-ants, desk-lamp",
    "def npm_install_with_a_name_that_is_quite_long_indeed(): hf_hub_download()",
    "eyJhbGciOiJIUzI1NiJ9 and AKIA and AIza",
    "postgresql://localhost:5432/app and redis://cache:6379/0",
    "postgres://user:pw@host, and mysql://{user}:{password}@{host}/db",
    "Authorization: Bearer <token>, authorization: Basic ...",
    "xoxo-and-lots-of-love-to-all-of-you, pypi-server, SG.x.y",
    "-----BEGIN PRIVATE " + "KEY-----\n/////////bin/bash cleanupscript001",
    "https://example.org/0123456789abcdef/@ada/42",
    "SKU0123456789, ACCOUNT, key-value, dp.pt.x, glass-house, glad-to-see-you-here-again",
    "sha512-" + "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg" * 2,
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 3,
    "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
    "API_TOKEN=os.environ.get('API_TOKEN2'), SECRET=process.env.MY_SECRET_2024_VALUE",
    "MAX_TOKENS=1000000000000000a, TOKEN_LIMIT: 0123456789abcdef0123",
    "SSH_PRIVATE_KEY=/home/ada/keys/id_rsa_2048, GITHUB_TOKEN=${{ secrets.TOKEN_1 }}",
    "API_KEY=your-api-key-goes-here, PASSWORD: correct horse battery staple 1",
    "DB_PASSWORD = get_password_of_stage_2(name), NEXT_TOKEN=1234567890123456",
    "ATATT3 and ABSK and tvly-your-key and lsv2_pt_short, glc_short",
]
