# Every quantity is a.h for true shares h, estimated by b.f for report frequencies f, where the channel turns b into a.
# se^2 = (sum b^2 f - (b.f)^2)/(n - 1). Limits: Wilson's, or Blaker's where a report came fewer than 15 times, mapped
# through b, where two values of b carry the estimate; MOVER with a decoy that was counted; for general tables the normal
# ones, or those of a score test where a report is rare. The bands of cumulative shares, which are drawn, and quantiles,
# which invert limits, are in reproduce.py alone.
reports <- read.csv("reports.csv", check.names = FALSE, colClasses = "character")
if (nrow(reports) < 2) stop("reports.csv has ", nrow(reports), " reports; at least 2 are needed to estimate anything")
found <- data.frame(
  question = character(), quantity = character(), option = character(), estimate = numeric(), se = numeric(),
  low = numeric(), high = numeric(), simultaneous_low = numeric(), simultaneous_high = numeric(),
  interval = character(), epsilon = numeric()
)
enough <- 15

normal <- function(level) -qnorm((1 - level) / 2)

wilson <- function(k, n, level) {
  z <- normal(level)
  share <- k / n
  shrink <- 1 + z^2 / n
  centre <- (share + z^2 / (2 * n)) / shrink
  half <- z / shrink * sqrt(share * (1 - share) / n + z^2 / (4 * n^2))
  c(if (share <= 0) 0 else centre - half, if (share >= 1) 1 else centre + half)
}

# Blaker's limits. From Clopper and Pearson's limit upwards P(X >= k) grows until P(X <= j + 1) is as small, j being the
# largest count that is as rare at the start; the limit is there, or where P(X >= k) + P(X <= j) is as large as the error.
exact_low <- function(k, n, level) {
  if (k <= 0) return(0)
  error <- 1 - level
  start <- qbeta(error / 2, k, n - k + 1)
  counts <- -1:n
  other <- max(counts[pbinom(counts, n, start) <= error / 2])
  root <- function(f, end) uniroot(f, c(start, end), tol = 1e-13, extendInt = "no")$root
  gap <- function(p) pbinom(k - 1, n, p, lower.tail = FALSE) - pbinom(other + 1, n, p)
  excess <- function(p) pbinom(k - 1, n, p, lower.tail = FALSE) + pbinom(other, n, p) - error
  end <- k / n
  if (gap(end) > 0) end <- root(gap, end)
  if (excess(end) > 0 && excess(start) < 0) end <- root(excess, end) else if (excess(end) > 0) end <- start
  end
}

exact <- function(k, n, level) c(exact_low(k, n, level), 1 - exact_low(n - k, n, level))

scarce <- function(k, n) pmin(k, n - k) < enough

frequency <- function(k, n, level) if (scarce(k, n)) exact(k, n, level) else wilson(k, n, level)

# The one frequency that carries b.f, or nothing.
line_of <- function(b, counts) {
  near <- 1e-9 * max(abs(b))
  upper <- abs(b - max(b)) <= near
  if (max(b) - min(b) <= 2 * near || !all(upper | abs(b - min(b)) <= near)) return(NULL)
  list(k = sum(counts[upper]), n = sum(counts), low = min(b), slope = max(b) - min(b))
}

quantity <- function(b, counts, decoy = NULL, shares = NULL) {
  n <- sum(counts)
  f <- counts / n
  estimate <- sum(b * f)
  variance <- sum((b - estimate)^2 * f) / (n - 1)
  if (!is.null(decoy)) {
    move <- (decoy$within - decoy$without) %*% b
    variance <- variance + sum(shares * move)^2 * decoy$share * (1 - decoy$share) / decoy$of
  }
  line <- if (is.null(decoy)) line_of(b, counts)
  list(estimate = estimate, se = sqrt(variance), b = b, counts = counts, line = line, decoy = decoy)
}

# One method for a whole table, so that its intervals can be compared.
method_of <- function(wanted, together) {
  lines <- lapply(wanted, `[[`, "line")
  known <- !sapply(lines, is.null)
  if (all(known)) {
    few <- any(sapply(lines, function(line) scarce(line$k, line$n)))
    return(if (together || few) "blaker" else "wilson")
  }
  if (all(known | sapply(wanted, function(one) !is.null(one$decoy) && length(one$counts) == 2))) return("mover")
  rare <- any(sapply(wanted, function(one) any(scarce(one$counts, sum(one$counts)))))
  if (rare && all(sapply(wanted, function(one) is.null(one$decoy)))) "score" else "wald"
}

limits_of <- function(one, method, level) {
  line <- one$line
  if (method == "wilson") return(sort(line$low + line$slope * wilson(line$k, line$n, level)))
  if (method == "blaker") return(sort(line$low + line$slope * exact(line$k, line$n, level)))
  if (method == "mover") return(mover(one, level))
  if (method == "score") return(score(one$b, one$counts, level))
  one$estimate + c(-1, 1) * normal(level) * one$se
}

# All p for which z - A(p) - B(p) q, with P(Yes) = A(p) + B(p) q, has an interval that holds 0.
mover <- function(one, level) {
  if (!is.null(one$line)) return(sort(one$line$low + one$line$slope * frequency(one$line$k, one$line$n, level)))
  n <- sum(one$counts)
  reported <- one$counts[2] / n
  ends <- frequency(one$counts[2], n, level)
  q <- one$decoy$share
  poll <- frequency(one$decoy$yes, one$decoy$of, level)
  base <- one$decoy$without[, 2]
  move <- one$decoy$within[, 2] - base
  room <- function(share) {
    slope <- move[1] + share * (move[2] - move[1])
    gap <- reported - (base[1] + share * (base[2] - base[1])) - slope * q
    side <- if (gap > 0) reported - ends[1] else ends[2] - reported
    other <- if ((gap > 0) == (slope > 0)) poll[2] - q else q - poll[1]
    sqrt(side^2 + (slope * other)^2) - abs(gap)
  }
  edge <- function(side) {
    inner <- one$estimate
    step <- 0.05
    while (step < 1e4) {
      outer <- one$estimate + side * step
      if (room(outer) < 0) return(uniroot(room, sort(c(inner, outer)), tol = 1e-14, maxiter = 1000)$root)
      inner <- outer
      step <- 2 * step
    }
    if (side < 0) min(one$estimate, 0) else max(one$estimate, 1)
  }
  c(edge(-1), edge(1))
}

# All v with |b.f - v| <= z sqrt(Var_v / n), the variance at the frequencies that are likeliest where b.p = v.
score <- function(b, counts, level) {
  n <- sum(counts)
  f <- counts / n
  z <- normal(level)
  scaled <- (b - min(b)) / (max(b) - min(b))
  min(b) + (max(b) - min(b)) * c(1 - reach(1 - scaled, f, n, z), reach(scaled, f, n, z))
}

reach <- function(w, f, n, z) {
  furthest <- 1e9
  estimate <- sum(w * f)
  tilted <- function(tilt) {
    moved <- f / (1 + tilt * (1 - w))
    moved / sum(moved)
  }
  excess <- function(p) {
    value <- sum(w * p)
    (value - estimate) * sqrt(n) - z * sqrt(max(sum(w^2 * p) - value^2, 0))
  }
  first <- function(path, end) {
    low <- 0
    high <- end
    for (turn in 1:120) {
      middle <- (low + high) / 2
      if (excess(path(middle)) > 0) high <- middle else low <- middle
    }
    sum(w * path(high))
  }
  last <- tilted(furthest)
  if (excess(last) > 0) return(first(function(at) tilted(expm1(at)), log(furthest)))
  if (estimate >= 1) return(1)
  heaviest <- (w == 1) / max(sum(w == 1), 1)
  first(function(part) (1 - part) * last + part * heaviest, 1)
}

# Rows of the table: one method for all, and limits that hold together where shares are several. None where fewer were
# asked than the minimum, as in a report; R computes what is wanted only behind this.
add <- function(question, kind, options, asked, wanted, epsilon, together = FALSE) {
  if (asked < minimum) {
    message(question, ": no estimates, ", asked, " reports are fewer than the minimum of ", minimum)
    return(invisible())
  }
  method <- method_of(wanted, FALSE)
  ends <- sapply(wanted, limits_of, method, level)
  both <- matrix(NA, 2, length(wanted))
  if (together) {
    each <- 1 - (1 - level) / length(wanted)
    both <- sapply(wanted, limits_of, method_of(wanted, length(wanted) > 1), each)
  }
  found <<- rbind(found, data.frame(
    question, quantity = kind, option = options,
    estimate = sapply(wanted, `[[`, "estimate"), se = sapply(wanted, `[[`, "se"),
    low = ends[1, ], high = ends[2, ], simultaneous_low = both[1, ], simultaneous_high = both[2, ],
    interval = method, epsilon
  ))
}

# The shares of a follow-up question among those who were asked: all R for which 0 lies in the score interval of
# top - R bottom. If the share of people asked is not clear of 0, every R is possible.
among_asked <- function(question, options, top, bottom, counts, epsilon) {
  if (sum(counts) < minimum) return(invisible())
  f <- counts / sum(counts)
  asked <- sum(bottom * f)
  if (asked <= 0) return(invisible())
  edge <- function(b, estimate, side, level) {
    if (score(bottom, counts, level)[1] <= 0) return(side * Inf)
    room <- function(ratio) side * score(b - ratio * bottom, counts, level)[if (side < 0) 1 else 2]
    inner <- estimate
    step <- 0.02
    while (step < 8) {
      outer <- estimate + side * step
      if (room(outer) < 0) return(uniroot(room, sort(c(inner, outer)), tol = 1e-12, maxiter = 1000)$root)
      inner <- outer
      step <- 2 * step
    }
    side * Inf
  }
  each <- if (nrow(top) > 2) 1 - (1 - level) / nrow(top) else level
  for (row in seq_len(nrow(top))) {
    b <- top[row, ]
    estimate <- sum(b * f) / asked
    found <<- rbind(found, data.frame(
      question, quantity = "share among asked", option = options[row], estimate,
      se = quantity(b - estimate * bottom, counts)$se / asked,
      low = edge(b, estimate, -1, level), high = edge(b, estimate, 1, level),
      simultaneous_low = edge(b, estimate, -1, each), simultaneous_high = edge(b, estimate, 1, each),
      interval = "score", epsilon
    ))
  }
}

# What reports say of a part: a code for each report, -1 where it says nothing.
codes <- function(column, said = NULL) {
  sent <- as.integer(reports[[column]])
  if (is.null(said)) sent else said[sent + 1]
}

counted <- function(coded, outcomes) tabulate(coded[coded >= 0] + 1, nbins = outcomes)

rows_of <- function(b, counts, decoy = NULL) {
  shares <- if (!is.null(decoy)) as.vector(decoy$inverse %*% (counts / sum(counts)))
  lapply(seq_len(nrow(b)), function(row) quantity(b[row, ], counts, decoy, shares))
}

# Sets of options as hexadecimal digits, the highest option first: how many hold each option.
holding <- function(column, options) {
  sent <- reports[[column]]
  sapply(seq_len(options) - 1, function(option) {
    place <- nchar(sent) - option %/% 4
    sum(bitwAnd(strtoi(substr(sent, place, place), 16L), bitwShiftL(1L, option %% 4L)) > 0)
  })
}

# a.h from sets: as if each b had been rounded to one of its ends at random, with as many reports as have its variance.
of_sets <- function(a, held, n, size, chance) {
  gap <- chance[2] - chance[1]
  others <- length(a) - 1
  with_truth <- chance[2] * (size - 1) / others
  without <- (chance[2] * (size - 1) * (size - 2) + (1 - chance[2]) * size * (size - 1)) / (others * (others - 1))
  shares <- (held / n - chance[1]) / gap
  rest <- sum(a) - a
  first <- chance[2] * a + chance[1] * rest
  second <- chance[2] * a^2 + chance[1] * (sum(a^2) - a^2) + 2 * with_truth * a * rest +
    without * (rest^2 - (sum(a^2) - a^2))
  shift <- chance[1] * sum(a)
  moments <- (second - 2 * shift * first + shift^2) / gap^2
  estimate <- sum(a * shares)
  least <- min(pmax(moments - a^2, 0)) / 2
  variance <- max(sum(moments * shares) - estimate^2, least) / (n - 1)
  ends <- (c(sum(sort(a)[seq_len(size)]), sum(sort(a, decreasing = TRUE)[seq_len(size)])) - shift) / gap
  upper <- min(max((estimate - ends[1]) / (ends[2] - ends[1]), 0), 1)
  spread <- upper * (1 - upper) * (ends[2] - ends[1])^2
  trials <- if (variance > 0 && spread > 0) spread / variance + 1 else n
  line <- list(k = upper * trials, n = trials, low = ends[1], slope = ends[2] - ends[1])
  list(estimate = estimate, se = sqrt(variance), line = line)
}
