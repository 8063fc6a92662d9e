# Reads a token (JSON) from standard input for verify.sh and writes what is to be checked, one
# `name<TAB>value` on each line: texts as JSON writes them in ASCII, and scope_json as it is signed.
# Anything that languages read differently (a repeated member, NaN, a number beyond a double, bytes
# that are not UTF-8, very deep nesting) is refused. Works on bytes: LC_ALL=C.

function refuse(what) { if (!failed) print "malformed\t" what; failed = 1; exit 0 }

# ---- characters

function byte(at) { return (at in bytes) ? bytes[at] : -1 }

function skip_space(    b) {
    while ((b = byte(position)) == 32 || b == 9 || b == 10 || b == 13) position++
}

function hex_value(digits,    i, value, found) {
    value = 0
    for (i = 1; i <= length(digits); i++) {
        found = index("0123456789abcdef", tolower(substr(digits, i, 1)))
        if (!found) refuse("no JSON: an escape that is none")
        value = value * 16 + found - 1
    }
    return value
}

# The code point of raw UTF-8 at the position, which moves past it.
function read_utf8(    b, more, point, least, i, next_byte) {
    b = byte(position++)
    if (b < 128) return b
    if (b >= 194 && b <= 223) { more = 1; point = b - 192; least = 128 }
    else if (b >= 224 && b <= 239) { more = 2; point = b - 224; least = 2048 }
    else if (b >= 240 && b <= 244) { more = 3; point = b - 240; least = 65536 }
    else refuse("got bytes that are no UTF-8")
    for (i = 0; i < more; i++) {
        next_byte = byte(position++)
        if (next_byte < 128 || next_byte > 191) refuse("got bytes that are no UTF-8")
        point = point * 64 + next_byte - 128
    }
    if (point < least || point > 1114111 || (point >= 55296 && point <= 57343))
        refuse("got bytes that are no UTF-8")
    return point
}

# One character as Python's json writes it in ASCII.
function written(point) {
    if (point == 34) return "\\\""
    if (point == 92) return "\\\\"
    if (point == 8) return "\\b"
    if (point == 9) return "\\t"
    if (point == 10) return "\\n"
    if (point == 12) return "\\f"
    if (point == 13) return "\\r"
    if (point >= 32 && point < 127) return sprintf("%c", point)
    if (point < 65536) return sprintf("\\u%04x", point)
    point -= 65536
    return sprintf("\\u%04x\\u%04x", 55296 + int(point / 1024), 56320 + point % 1024)
}

# A text: returned as it is written; `sort_key` is set so that keys compare by code point.
function read_string(    out, key, b, point, low, letter) {
    if (byte(position++) != 34) refuse("no JSON: a text was expected")
    out = "\""; key = ""
    for (;;) {
        b = byte(position)
        if (b < 32) refuse("no JSON: a text without end, or with a control character")
        if (b == 34) { position++; break }
        if (b == 92) {
            letter = byte(position + 1)
            position += 2
            if (letter == 117) {
                point = unit()
                # A pair of surrogates is one character; half of one stays what it is.
                if (point >= 55296 && point <= 56319 && byte(position) == 92 && byte(position + 1) == 117) {
                    position += 2
                    low = unit()
                    if (low >= 56320 && low <= 57343)
                        point = 65536 + (point - 55296) * 1024 + low - 56320
                    else
                        position -= 6
                }
            }
            else if (letter == 34 || letter == 92 || letter == 47) point = letter
            else if (letter == 98) point = 8
            else if (letter == 102) point = 12
            else if (letter == 110) point = 10
            else if (letter == 114) point = 13
            else if (letter == 116) point = 9
            else refuse("no JSON: an escape that is none")
        }
        else point = read_utf8()
        out = out written(point)
        key = key sprintf("%06x", point)
    }
    sort_key = key
    return out "\""
}

function unit(    digits, i) {
    digits = ""
    for (i = 0; i < 4; i++) {
        if (byte(position) < 0) refuse("no JSON: an escape that is none")
        digits = digits sprintf("%c", byte(position++))
    }
    return hex_value(digits)
}

# ---- numbers

function read_number(    text, b) {
    text = ""
    while ((b = byte(position)) == 43 || b == 45 || b == 46 || (b >= 48 && b <= 57) || b == 69 || b == 101) {
        text = text sprintf("%c", b)
        position++
    }
    if (text !~ /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/) refuse("no JSON: a value that is none")
    if (length(text) > 400) refuse("got a number beyond a double's range")
    if (text ~ /^-?[0-9]+$/) return text == "-0" ? "0" : text
    return written_float(text)
}

# The shortest digits that give the same double, in the form of Python's repr.
function written_float(text,    value, precision, shown, sign, digits, exponent, parts) {
    value = text + 0
    if (value > 1.7976931348623157e308 || value < -1.7976931348623157e308)
        refuse("got a number beyond a double's range")
    if (value == 0) return substr(text, 1, 1) == "-" ? "-0.0" : "0.0"
    for (precision = 0; precision <= 16; precision++) {
        shown = sprintf("%." precision "e", value)
        if (shown + 0 == value) break
    }
    sign = ""
    if (substr(shown, 1, 1) == "-") { sign = "-"; shown = substr(shown, 2) }
    split(shown, parts, "e")
    digits = parts[1]; sub(/\./, "", digits)
    sub(/0+$/, "", digits)
    exponent = parts[2] + 0
    if (exponent < -4 || exponent >= 16) {
        if (length(digits) > 1) digits = substr(digits, 1, 1) "." substr(digits, 2)
        return sign digits sprintf("e%s%02d", exponent < 0 ? "-" : "+", exponent < 0 ? -exponent : exponent)
    }
    if (exponent < 0) return sign "0." zeros(-exponent - 1) digits
    if (length(digits) <= exponent + 1) return sign digits zeros(exponent + 1 - length(digits)) ".0"
    return sign substr(digits, 1, exponent + 1) "." substr(digits, exponent + 2)
}

function zeros(count,    out) { out = ""; while (count-- > 0) out = out "0"; return out }

# ---- values; `path` is the place of a value, which is stored under it

function read_value(path, depth,    b, out) {
    skip_space()
    b = byte(position)
    if (b == 123) out = read_object(path, depth + 1)
    else if (b == 91) out = read_array(path, depth + 1)
    else if (b == 34) { out = read_string(); kind[path] = "text" }
    else if (is_word("true")) out = "true"
    else if (is_word("false")) out = "false"
    else if (is_word("null")) out = "null"
    else { out = read_number(); kind[path] = "number" }
    value_at[path] = out
    skip_space()
    return out
}

function is_word(word,    i) {
    for (i = 1; i <= length(word); i++)
        if (byte(position + i - 1) != index(ALPHABET, substr(word, i, 1)) + 96) return 0
    position += length(word)
    return 1
}

function read_object(path, depth,    names, keys, values, count, name, key, out, i, j) {
    if (depth > 32) refuse("got nesting beyond 32")
    kind[path] = "object"; position++; count = 0
    skip_space()
    if (byte(position) == 125) { position++; return "{}" }
    for (;;) {
        skip_space()
        name = read_string(); key = sort_key
        skip_space()
        if (byte(position++) != 58) refuse("no JSON: a colon was expected")
        # Members are sorted by their keys as they come.
        for (i = count; i > 0 && keys[i] "" > key ""; i--) ;
        if (i > 0 && keys[i] "" == key "") refuse("got a member that stands twice")
        for (j = count; j > i; j--) { keys[j + 1] = keys[j]; names[j + 1] = names[j]; values[j + 1] = values[j] }
        keys[i + 1] = key; names[i + 1] = name; count++
        values[i + 1] = read_value(path SUBSEP name, depth)
        if (byte(position) == 44) { position++; continue }
        if (byte(position) == 125) { position++; break }
        refuse("no JSON: a comma or the end of an object was expected")
    }
    out = "{"
    for (i = 1; i <= count; i++) out = out (i > 1 ? ", " : "") names[i] ": " values[i]
    return out "}"
}

function read_array(path, depth,    count, out, value) {
    if (depth > 32) refuse("got nesting beyond 32")
    kind[path] = "array"; position++; count = 0; out = "["
    skip_space()
    if (byte(position) == 93) { position++; size[path] = 0; return "[]" }
    for (;;) {
        value = read_value(path SUBSEP count, depth)
        out = out (count++ ? ", " : "") value
        if (byte(position) == 44) { position++; continue }
        if (byte(position) == 93) { position++; break }
        refuse("no JSON: a comma or the end of a list was expected")
    }
    size[path] = count
    return out "]"
}

# ---- the program

# `od` writes the bytes as numbers: awks differ in how they read bytes, but all read numbers.
{ for (i = 1; i <= NF; i++) bytes[total++] = $i + 0 }

END {
    if (failed) exit 0
    ALPHABET = "abcdefghijklmnopqrstuvwxyz"
    if (total > 1000000) refuse("got more than 1000000 bytes")
    position = 0
    read_value("t", 0)
    if (position != total) refuse("no JSON: something after its end")
    if (TEXT_ONLY) { print "text\t" value_at["t"]; exit 0 }
    if (kind["t"] != "object") refuse("got no object")
    show("token_id"); show("nonce"); show("expires_at"); show("signature")
    scope = "t" SUBSEP "\"scope\""
    if (kind[scope] != "object") refuse("scope: got no object")
    print "scope_json\t" value_at[scope]
    show_inside("action_type"); show_inside("content_hash")
    hosts = scope SUBSEP "\"allowed_hosts\""
    if (kind[hosts] != "array") refuse("scope.allowed_hosts: got no list of texts")
    for (i = 0; i < size[hosts]; i++)
        if (kind[hosts SUBSEP i] != "text") refuse("scope.allowed_hosts: got no list of texts")
    for (i = 0; i < size[hosts]; i++) print "host\t" value_at[hosts SUBSEP i]
    print "whole\tyes"
}

function show(name,    path) {
    path = "t" SUBSEP "\"" name "\""
    if (kind[path] != "text") refuse(name ": got none, expected a text")
    print name "\t" value_at[path]
}

function show_inside(name,    path) {
    path = scope SUBSEP "\"" name "\""
    if (kind[path] != "text") refuse("scope." name ": got no text")
    print name "\t" value_at[path]
}
