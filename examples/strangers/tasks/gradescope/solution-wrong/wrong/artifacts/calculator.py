def evaluate(text):
    parts = text.split()
    total = int(parts[0])
    for sign, number in zip(parts[1::2], parts[2::2]):
        total = total + int(number) if sign == "+" else total * int(number)
    return total
