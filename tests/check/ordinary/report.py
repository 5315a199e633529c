import html
import string
import textwrap
import xml.etree.ElementTree as ET
from email.message import EmailMessage
from urllib.parse import quote, urlsplit

tree = ET.fromstring("<a><b x='1'>text</b></a>")
print([(b.tag, b.attrib["x"], b.text) for b in tree.iter("b")])
print(string.Template("$who").substitute(who="me"), textwrap.dedent("  x"), html.escape("<os>"))
mail = EmailMessage()
mail["Subject"] = "import os"
mail.set_content("body")
print(urlsplit("https://example.com/a?b=1").path, quote("ä b"), mail.as_string())
print("{0} {name}".format(1, name="os.system"))
