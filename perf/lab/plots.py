"""The plots of a report, as SVG by gnuplot: text and axes take the colour of the page around them."""
import re
import subprocess

from lab import CannotRun

WIDTH = 400
COLOURS = {0: "#8a8f98", 1: "#d9822b", 2: "#2f8fd0", 3: "#2fa36b"}  # to be told apart on light and on dark
TICS = ", ".join(f"'{n:g}' {n:g}" for power in range(-2, 5) for n in (10 ** power, 2 * 10 ** power, 5 * 10 ** power))
INK, FAINT = "#010203", "#040506"  # replaced by what the page says


def draw(name, script, height):
    """script: lines of gnuplot; text in it is without markup."""
    lines = [f"set terminal svg noenhanced size {WIDTH},{height} font 'sans-serif,12' background '#070809'",
             f"set border 3 lc rgb '{INK}'", f"set tics nomirror textcolor rgb '{INK}'", f"set key textcolor rgb '{INK}'",
             f"set xlabel textcolor rgb '{INK}'", f"set ylabel textcolor rgb '{INK}'",
             f"set grid lc rgb '{FAINT}'", *script]
    done = subprocess.run(["gnuplot"], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode != 0 or "</svg>" not in done.stdout:
        raise CannotRun(f"gnuplot: {done.stderr.strip()[:400]}")
    return embed(name, done.stdout)


def embed(name, svg):
    """As an element of a page: no prologue, names that no other plot has, colours of the page."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r'<rect [^>]*#070809[^>]*/>', "", re.sub(r"<desc>.*?</desc>|<title>.*?</title>", "", svg, flags=re.S))
    svg = re.sub(r"<filter .*?</filter>", "", svg, flags=re.S)
    svg = re.sub(r"""\b(id=["']|href=["']#|url\(#)""", rf"\g<1>{name}-", svg)
    for code, ours in ((INK, "currentColor"), (FAINT, "var(--faint)")):
        r, g, b = (int(code[i:i + 2], 16) for i in (1, 3, 5))
        svg = re.sub(rf"rgb\( *{r}, *{g}, *{b} *\)|{code}", ours, svg)
    svg = re.sub(r'\b(stroke|fill)="black"', r'\1="currentColor"', svg)
    svg = re.sub(r' color="[^"]*"', "", svg)
    svg = re.sub(r"<svg\s[^>]*?viewBox=", '<svg role="img" viewBox=', svg, count=1)
    return re.sub(r'\s+xmlns(:xlink)?="[^"]*"', "", svg, count=2)


def block(name, rows):
    return [f"${name} << end", *(" ".join(map(str, row)) for row in rows), "end"]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def bars(name, groups, series, xlabel, log=True, mark=None):
    """Bars that lie: groups of a name and values by series, the first on top; series: (title, colour).
    mark: a line at that value."""
    script, curves, n = [], [], len(series)
    tics, step = [], 1 / (n + 0.8)
    for at, (group, _) in enumerate(groups):
        tics.append(f"{quoted(group)} {-at}")
    values = [v for _, by in groups for v in by if v]
    least = min(values + ([mark] if mark else [])) * 0.7 if log else 0
    for s, (title, colour) in enumerate(series):
        rows = []
        for at, (_, by) in enumerate(groups):
            if by[s]:
                middle = -at + ((n - 1) / 2 - s) * step
                rows.append((by[s], middle, least, by[s], middle - step * 0.46, middle + step * 0.46))
        if rows:
            script += block(f"s{s}", rows)
            curves.append(f"$s{s} using 1:2:3:4:5:6 with boxxyerror fs solid 1 noborder lc rgb '{colour}' "
                          f"title {quoted(title)}")
    script += [f"set ytics ({', '.join(tics)})", f"set yrange [{-len(groups) + 0.4}:0.6]", "unset grid",
               f"set grid xtics lc rgb '{FAINT}'", f"set xlabel {quoted(xlabel)}",
               f"set key at screen {1 - 6 / WIDTH}, screen 0.99 right top horizontal samplen 1 width -1", "set tmargin 2.6",
               "set ytics scale 0", f"set xrange [{least}:{max(values + [mark or 0]) * (1.3 if log else 1.08)}]"]
    if log:
        script.append("set logscale x")
        script.append(f"set xtics ({TICS})" if max(values) / least < 100 else "set xtics auto")
    if mark:
        script.append(f"set arrow 1 from {mark},graph 0 to {mark},graph 1 nohead lw 1.5 lc rgb '{INK}'")
    script.append("plot " + ", \\\n  ".join(curves))
    return draw(name, script, 104 + len(groups) * (14 + 9 * n))


def lines(name, curves, xlabel, ylabel):
    """Log-log; curves: (title, colour, [(x, y, least, most)])."""
    script, plots, xs = [], [], [row[0] for _, _, rows in curves for row in rows]
    for at, (called, colour, rows) in enumerate(curves):
        script += block(f"s{at}", rows)
        plots += [f"$s{at} using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '{colour}' title {quoted(called)}",
                  f"$s{at} using 1:3:(0):($4-$3) with vectors nohead lw 1 lc rgb '{colour}' notitle"]
    script += ["set logscale xy", f"set xlabel {quoted(xlabel)}", f"set ylabel {quoted(ylabel)}",
               "set key top left Left reverse samplen 1.5", "set format xy '10^{%L}'", "set termoption enhanced",
               f"set xrange [{min(xs) / 1.6}:{max(xs) * 1.6}]", "plot " + ", \\\n  ".join(plots)]
    return draw(name, script, 280)
