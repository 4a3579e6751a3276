fill + all + one b 1 + slice b
fill + add_to a 9 + add_to c 1 + all
fill_words + reserved
