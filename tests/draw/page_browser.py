# SPDX-License-Identifier: BSD-3-Clause
"""A headless browser for the page: reads what it shows, sends keys and mouse events, and collects
errors."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait


class Browser:
    """A context manager that starts the browser, and ends it without leaving anything behind."""

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        self.folder = pathlib.Path(tempfile.mkdtemp())
        os.environ["TMPDIR"] = str(self.folder)  # the browser uses this folder, too
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for word in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "force-device-scale-factor=1",
                     "force-prefers-reduced-motion", "window-size=1280,1000", f"user-data-dir={self.folder}/profile"):
            options.add_argument("--" + word)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        except BaseException:
            self.clear()
            raise
        self.driver.set_script_timeout(60)
        return self

    def __exit__(self, *_):
        try:
            self.driver.quit()
        finally:
            self.clear()

    def clear(self):
        """Removes the folder. The browser may still write to it while it ends."""
        for _ in range(100):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.1)

    def open(self, data):
        """Opens the page with the data: a picture, or a text in its place."""
        text = data if isinstance(data, str) else json.dumps(data)
        path = self.folder / "page.html"
        path.write_bytes(subprocess.run([os.environ["TUTTI_TEST_PAGE_FRAME"]], input=text.encode(), capture_output=True, check=True).stdout)
        self.open_file(path)

    def open_file(self, path):
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(pathlib.Path(path).as_uri())
        self.settle()

    def settle(self):
        """Waits until everything that was requested has been drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that pages from files requested. The requests of the browser's own pages
        are left out."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
                and event["params"]["documentURL"].startswith("file:")]

    def run(self, script, *arguments):
        return self.driver.execute_script("return " + script, *arguments)

    def get(self, name):
        return self.driver.find_element(By.ID, name)

    def has(self, name):
        return bool(self.driver.find_elements(By.ID, name))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, name):
        return self.run("document.getElementById(arguments[0]).textContent", name)

    def texts(self, selector):
        return self.run("[...document.querySelectorAll(arguments[0])].map(one => one.textContent.trim())", selector)

    def press(self, name, *keys):
        """Sends keys to the element, given by name or as characters."""
        for key in keys:
            *held, last = (getattr(Keys, part, part) for part in key.split("+")) if len(key) > 1 else (key,)
            self.get(name).send_keys(*held, last)
        self.settle()

    def type(self, key):
        """Sends a key to the element that has the focus."""
        self.driver.switch_to.active_element.send_keys(getattr(Keys, key))
        self.settle()

    def hover(self, element):
        ActionChains(self.driver, duration=0).move_to_element(element).perform()
        self.settle()

    def at(self, name, x, y, act="move"):
        """Moves the mouse to a position in an element, relative to its top left corner; `act` may
        click there or drag from there."""
        element = self.get(name)
        size = element.size
        chain = ActionChains(self.driver, duration=0).move_to_element_with_offset(element, x - size["width"] // 2, y - size["height"] // 2)
        if act == "click":
            chain.click()
        if act == "drag":
            chain.click_and_hold().move_by_offset(-200, 0).release()
        chain.perform()
        self.settle()

    def wheel(self, name, x, y, down):
        """Turns the wheel at a position in an element, relative to its centre."""
        origin = ScrollOrigin.from_element(self.get(name), x, y)
        ActionChains(self.driver, duration=0).scroll_from_origin(origin, 0, down).perform()
        self.settle()

    def until(self, condition):
        WebDriverWait(self.driver, 30).until(lambda _: condition())
