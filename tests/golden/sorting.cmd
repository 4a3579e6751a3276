by_one
down 7
stable
ranks
