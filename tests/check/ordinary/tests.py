import unittest


class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        if not self._items:
            raise IndexError("empty")
        return self._items.pop()

    def __len__(self):
        return len(self._items)

    def __repr__(self):
        return f"{type(self).__name__}({self._items!r})"


class StackTest(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_pop(self):
        self.stack.push(1)
        self.assertEqual(self.stack.pop(), 1)

    def test_empty(self):
        with self.assertRaises(IndexError):
            self.stack.pop()


if __name__ == "__main__":
    unittest.main()
