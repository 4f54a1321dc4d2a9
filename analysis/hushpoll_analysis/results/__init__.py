"""What a statistician reads: the whole survey as data, words, text, pages and figures."""
