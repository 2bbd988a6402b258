def encode(text):
    parts, start = [], 0
    for here in range(1, len(text)):
        if text[here] != text[start]:
            length = here - start
            parts.append(text[start] if length == 1 else f"{length}{text[start]}")
            start = here
    return "".join(parts)
