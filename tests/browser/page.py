"""Drive a notebook in a browser: open it, run it, follow links, and move its panels'
controls.

A `Panel` has two states: the one that the page shows, and the one that the kernel has.
The second is asked through JupyterLab's own connection to the kernel.
"""

import ast
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from tests.browser.servers import PATIENCE

SCRIPTS = r"""
const VIEW = 'application/vnd.jupyter.widget-view+json';
window.course = {
  panel: () => window.jupyterapp.shell.currentWidget,
  kernel: () => course.panel().sessionContext.session.kernel,
  ask: async expression => {
    const content = {code: '', silent: true, store_history: false,
                     user_expressions: {answer: expression}};
    const reply = await course.kernel().requestExecute(content).done;
    return reply.content.user_expressions.answer;
  },
  listen: () => {
    course.errors = [];
    course.moving = new Set();  // moved controls that the kernel has yet to handle
    course.kernel().anyMessage.connect((_, {msg, direction}) => {
      const kind = msg.header.msg_type;
      if (direction === 'send' && kind === 'comm_msg') course.moving.add(msg.header.msg_id);
      if (kind === 'status' && msg.content.execution_state === 'idle')
        course.moving.delete(msg.parent_header.msg_id);
    });
    course.kernel().iopubMessage.connect((_, m) => {
      const kind = m.header.msg_type;
      if (kind === 'error') course.errors.push(m.content.traceback.join('\n'));
      if (kind !== 'stream' || m.content.name !== 'stderr') return;
      // JupyterLab asks for widgets before the kernel has any.
      if (!m.content.text.startsWith('No such comm')) course.errors.push(m.content.text);
    });
  },
  mark: () => {
    const views = [];
    for (const cell of course.panel().content.widgets) {
      const area = cell.outputArea;
      for (let i = 0; area && i < area.model.length; i++) {
        const view = area.model.get(i).data[VIEW];
        if (!view) continue;  // a text or a picture
        area.widgets[i].node.setAttribute('data-view', views.length);
        views.push(view.model_id);
      }
    }
    return views;
  },
  // Controls by their labels, sentences, and hashes of pictures.
  state: async root => {
    const each = (selector, f) => [...root.querySelectorAll(selector)].map(f);
    const label = box =>  // a check box has an empty one before it
      [...box.querySelectorAll('.widget-label, .widget-label-basic')].pop().textContent.trim();
    const read = (kind, value) => each(kind, box => [label(box), value(box)]);
    const field = box => box.querySelector('input, textarea');
    return {
      controls: Object.fromEntries([
        ...read('.widget-slider', box => box.querySelector('.widget-readout').textContent),
        ...read('.widget-dropdown', box => box.querySelector('select').selectedOptions[0].text),
        ...read('.widget-checkbox', box => field(box).checked ? 'True' : 'False'),
        ...read('.widget-text, .widget-textarea', box => field(box).value),
      ].filter(([name]) => name)),
      texts: each('.widget-html-content', box => box.textContent.split(/\s+/).join(' ').trim()),
      pictures: await Promise.all(each('img.widget-image', course.hash)),
    };
  },
  // The text of the document in front, once it has some.
  text: async () => {
    const read = () => course.panel().content.node.innerText.trim();
    while (!read()) await new Promise(resolve => setTimeout(resolve, 20));
    return read();
  },
  scroll: number => {
    const outer = document.querySelector('.jp-WindowedPanel-outer');
    outer.scrollTop = number * outer.clientHeight;
    return outer.scrollTop + outer.clientHeight < outer.scrollHeight - 1;
  },
  cutOff: () => [...document.querySelectorAll('.jp-OutputArea-output, .jp-OutputArea-output pre')]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => `${each.scrollWidth} > ${each.clientWidth}: ${each.textContent.slice(0, 60)}`),
  hash: async image => {
    const bytes = await (await fetch(image.src)).arrayBuffer();
    const digest = await crypto.subtle.digest('SHA-256', bytes);
    return [...new Uint8Array(digest)].map(b => b.toString(16).padStart(2, '0')).join('');
  },
};
"""
WIDTH = 1024
HEIGHT = 900
PLACES = ("min", "now", "max")


@dataclass(frozen=True)
class State:
    """Controls by their labels, sentences, and hashes of pictures."""

    controls: dict[str, str]
    texts: tuple[str, ...]
    pictures: tuple[str, ...]

    @classmethod
    def of(cls, state: dict[str, Any]) -> "State":
        controls = {name: _plain(value) for name, value in state["controls"].items()}
        return cls(controls, tuple(state["texts"]), tuple(state["pictures"]))


def _plain(value: str) -> str:
    """Write a number as Python prints it, without a page's typography."""
    plain = {",": "", "\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " "}
    return value.translate(str.maketrans(plain))


class Notebook:
    """One notebook, open in one page. `console` collects the errors of the page's
    console."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.console = list[str]()

    def note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.console.append(f"{message.text} ({message.location.get('url', '')})")

    def note_error(self, error: Exception) -> None:
        self.console.append(str(error))

    def open(self, path: str) -> None:
        """Open a notebook and wait until it shows every cell."""
        self.page.evaluate(
            "path => void jupyterapp.commands.execute('docmanager:open', {path})", path
        )
        self.page.wait_for_function(
            "path => course.panel()?.context?.path === path", arg=path
        )
        self.page.wait_for_function("() => course.panel().context.isReady")
        self.page.evaluate("() => course.panel().revealed")

    def follow(self, link: str) -> tuple[str, str]:
        """Click the first link of this text; return the path and the text of what it
        opens.

        The notebook is in front again afterwards.
        """
        lesson = self.page.evaluate("() => course.panel().id")
        anchor = self.page.locator(
            f"#{lesson} .jp-RenderedMarkdown a", has_text=link
        ).first
        anchor.click()
        self.page.wait_for_function("id => course.panel()?.id !== id", arg=lesson)
        self.page.wait_for_function("() => course.panel().context?.isReady")
        opened = self.page.evaluate(
            "async () => [course.panel().context.path, (await course.text())]"
        )
        self.page.evaluate("id => jupyterapp.shell.activateById(id)", lesson)
        return tuple(opened)

    def run_all(self) -> None:
        """Run all cells, as the menu does, and wait for the last one."""
        self.page.evaluate("() => course.panel().sessionContext.ready")
        self.page.wait_for_function("() => course.kernel()")
        self.page.evaluate("() => course.listen()")
        self.page.evaluate(
            "() => jupyterapp.commands.execute('notebook:run-all-cells')"
        )

    def faults(self) -> list[str]:
        """Errors and warnings that the kernel sent, from cells and from controls."""
        return self.page.evaluate("() => course.errors")

    def probe(self, function: str, *arguments: str) -> Any:
        """Call one of the probe's functions in the notebook's kernel."""
        return self.ask(
            f"__import__('panel_probe').{function}({', '.join(map(repr, arguments))})"
        )

    def ask(self, expression: str) -> Any:
        """Evaluate an expression that gives JSON in the notebook's kernel."""
        reply = self.page.evaluate("expression => course.ask(expression)", expression)
        assert reply["status"] == "ok", reply
        return json.loads(ast.literal_eval(reply["data"]["text/plain"]))

    def set_theme(self, theme: str) -> None:
        """Switch to JupyterLab Light or JupyterLab Dark, and wait for it."""
        light = "true" if theme.endswith("Light") else "false"
        change = (
            "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})"
        )
        self.page.evaluate(change, theme)
        self.page.wait_for_selector(
            f"body[data-jp-theme-light='{light}']", state="attached"
        )
        self.page.wait_for_selector("#jupyterlab-splash", state="hidden")

    def each_view(self) -> Iterator[int]:
        """Scroll from the top to the end, a page at a time."""
        for number in range(1000):
            more = self.page.evaluate("number => course.scroll(number)", number)
            yield number
            if not more:
                return

    def cut_off(self) -> list[str]:
        """Outputs that are wider than the room they have."""
        return self.page.evaluate("() => course.cutOff()")

    def panels(self) -> "list[Panel]":
        """Every widget in the order of the page. One widget may be shown twice."""
        models: list[str] = self.page.evaluate("() => course.mark()")
        return [Panel(self, number, model) for number, model in enumerate(models)]


@contextmanager
def desk(browser: Browser, url: str) -> Iterator[Page]:
    """Open JupyterLab in a window of its own, without a document."""
    with browser.new_context() as window:
        page = window.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(url)
        page.wait_for_function("() => window.jupyterapp")
        page.evaluate(SCRIPTS)
        page.evaluate("() => jupyterapp.restored")
        yield page


@contextmanager
def opened(page: Page, path: str) -> Iterator[Notebook]:
    """Open a notebook; shut its kernel down afterwards, and close all documents."""
    notebook = Notebook(page)
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.on("console", notebook.note)
    page.on("pageerror", notebook.note_error)
    notebook.open(path)
    yield notebook
    page.evaluate("() => course.panel().sessionContext.shutdown()")
    # Closing by a command would ask whether to save.
    page.evaluate(
        "() => [...jupyterapp.shell.widgets('main')].forEach(w => w.dispose())"
    )
    page.remove_listener("console", notebook.note)
    page.remove_listener("pageerror", notebook.note_error)


class Panel:
    """A panel as the page shows it, and as the kernel has it."""

    def __init__(self, notebook: Notebook, number: int, model: str) -> None:
        self.notebook = notebook
        self.page = notebook.page
        self.model = model
        self.root = self.page.locator(f"[data-view='{number}']")

    def all(self, selector: str) -> list[Locator]:
        """Visible, enabled elements in the order of the page."""
        elements = self.root.locator(selector).all()
        return [each for each in elements if each.is_visible() and each.is_enabled()]

    def shown(self) -> State:
        """Return the state that the page shows."""
        return State.of(self.root.evaluate("root => course.state(root)"))

    def in_python(self) -> State:
        """Return the state that the kernel has."""
        return State.of(self.notebook.probe("state", self.model))

    def settled(self) -> State:
        """Wait until page and kernel agree; return their state. TimeoutError if they
        never do."""
        end = time.monotonic() + PATIENCE
        while (page := self._done()) != (python := self.in_python()):
            if time.monotonic() > end:
                raise TimeoutError(f"the page shows\n{page}\nand Python has\n{python}")
            time.sleep(0.02)
        return page

    def _done(self) -> State:
        """Wait until the kernel has handled all moves; return what the page shows then.

        The kernel handles moves beside cells, so an answer to `ask` doesn't prove that.
        """
        self.page.wait_for_function("() => course.moving.size === 0")
        return self.shown()

    def put_back(self) -> None:
        """Set every control, in the kernel, to its value at the first call."""
        self.notebook.probe("put_back", self.model)

    def at(self, places: Sequence[dict[str, Any]]) -> list[Any]:
        """Move the panel through its places; return its sentence, pictures and table at
        each."""
        return self.notebook.probe("at", self.model, json.dumps(places))

    def differences(self) -> list[str]:
        """Differences from what the kernel draws again for the same values."""
        return self.notebook.probe("differences", self.model)


def is_high(handle: Locator) -> bool:
    """Whether a slider stands in its upper half."""
    low, now, high = (
        float(handle.get_attribute(f"aria-value{k}") or 0) for k in PLACES
    )
    return now > (low + high) / 2


def press(handle: Locator) -> None:
    """Move a slider one step with the keyboard, away from the nearer end."""
    handle.press("ArrowLeft" if is_high(handle) else "ArrowRight")


def drag(handle: Locator, share: float, steps: int = 3) -> None:
    """Drag a slider's knob with the mouse to a share of the slider's length."""
    handle.hover()
    knob = handle.bounding_box()
    track = handle.locator(
        "xpath=ancestor::*[contains(@class, 'noUi-base')]"
    ).bounding_box()
    assert knob
    assert track
    mouse = handle.page.mouse
    mouse.down()
    mouse.move(
        track["x"] + share * track["width"], knob["y"] + knob["height"] / 2, steps=steps
    )
    mouse.up()
