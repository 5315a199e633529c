#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""Runs over files; eval(x) in this text is only a word."""
import argparse
import logging

log = logging.getLogger(__name__)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=argparse.FileType())
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--exec", dest="run", action="store_true")
    return parser.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO)
    for file in args.files:
        log.info("%s: %d", file.name, sum(1 for _ in file) * args.count)


if __name__ == "__main__":
    main()
