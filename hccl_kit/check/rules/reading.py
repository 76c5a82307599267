"""HK0 and HK1: the rules that the readers enforce (`table.document`, `table.formats`, `check.engine`)."""

from __future__ import annotations

from typing import TypeAlias

from hccl_kit.check.rule import Rule
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product

TableRule: TypeAlias = Rule[[RankTable, Product]]

RULES: tuple[TableRule, ...] = (
    Rule(
        "HK001",
        "invalid-json",
        hccl_error="EI0004",
        doc="""The text is not JSON.

What:           the file is not a JSON document: a comment, an extra comma, a missing bracket, text after the end.
Why it matters: HCCL parses strictly and rejects the whole file at the first error.
Example:        the sample of a manual with its // comments; a comma after the last device.
Fix:            correct the marked place.
HCCL:           EI0004, Failed to parse the ranktable file (R3). Its parser of versions 1.x reads one value and takes
                what comes after it; other programs do not, so that is an error here, without code.""",
    ),
    Rule(
        "HK002",
        "invalid-utf8",
        hccl_error="EI0004",
        doc="""The text is not UTF-8.

What:           the bytes of the file are not UTF-8: UTF-16 from an editor, GBK, or binary data.
Why it matters: JSON is UTF-8, and HCCL's parser refuses other bytes.
Example:        a table saved as "Unicode" on Windows.
Fix:            save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 old.json > new.json`.
HCCL:           EI0004, Failed to parse the ranktable file (R3).""",
    ),
    Rule(
        "HK003",
        "byte-order-mark",
        severity="warning",
        doc="""The file starts with a byte order mark.

What:           the three bytes EF BB BF stand before the first bracket.
Why it matters: some programs that read rank tables skip the mark, others refuse the file.
Example:        a table saved as "UTF-8 with BOM".
Fix:            save it as UTF-8 without BOM.
HCCL:           accepts it; other programs that read the table may not.""",
    ),
    Rule(
        "HK004",
        "duplicate-key",
        doc="""An object has the same key twice.

What:           a key occurs twice in one object of the file.
Why it matters: parsers differ in which of the two they keep, so two programs read different tables.
Example:        {"rank_id": "0", "device_ip": "192.168.1.1", "rank_id": "1"}
Fix:            remove the one that is wrong.
HCCL:           does not look for it; its parser keeps one of the two.""",
    ),
    Rule(
        "HK005",
        "nesting-too-deep",
        doc="""Brackets are nested too deeply.

What:           objects and arrays are nested far deeper than a rank table needs.
Why it matters: such a file only exhausts a parser.
Example:        a thousand opening brackets.
Fix:            generate the table again.
HCCL:           has no known limit; this program has one, to bound its memory.""",
    ),
    Rule(
        "HK006",
        "number-too-large",
        doc="""A number is too large.

What:           a number of more digits than any parser keeps.
Why it matters: it is read as another value, or not at all.
Example:        "rank_id": 1000000000000000000000000
Fix:            write the number that was meant.
HCCL:           has no known limit; this program has one, to bound its memory.""",
    ),
    Rule(
        "HK007",
        "file-too-large-for-hccl",
        doc="""The file is larger than HCCL reads.

What:           the file has more than 40 MiB.
Why it matters: HCCL's parser of versions 1.x has this limit.
Example:        a table in which one program appended to another's output.
Fix:            leave out what HCCL does not read; 65,536 devices fit into 20 MiB.
HCCL:           no code; the log only (R4).""",
    ),
    Rule(
        "HK008",
        "path-suffix",
        severity="warning",
        doc="""The path does not have ".json" at its end only.

What:           the path does not end in ".json", or holds ".json" before its end too.
Why it matters: HCCL looks for the first ".json" of the whole path, which must be its end.
Example:        table.txt; /data/a.json.d/table.json
Fix:            rename the file or its folder before RANK_TABLE_FILE names it.
HCCL:           no code; the log says "not a valid .json file" (R2).""",
    ),
    Rule(
        "HK009",
        "file-too-large",
        doc="""The file is larger than this program reads.

What:           the file is larger than 256 MiB, or holds more than 16 million objects and arrays.
Why it matters: reading it would take more memory than a check is worth.
Example:        the path of a log or a checkpoint in place of the table.
Fix:            name the rank table; one of 65,536 devices takes about 11 MiB.
HCCL:           refuses more than 40 MiB of versions 1.x (R4) and more than 1 GiB of version 2.0.""",
    ),
    Rule(
        "HK101",
        "missing-key",
        hccl_error="EI0017",
        doc="""A required key is missing.

What:           an object lacks a key that HCCL always reads.
Why it matters: HCCL refuses the whole table. The keys of super pods count on every product, though Atlas A3 alone reads
                them.
Example:        a device without "rank_id"; "devcie_id" for "device_id".
Fix:            add the key; the finding names it, and the misspelled key if there is one.
HCCL:           EI0017, Config X is missing in the ranktable file (R5, R7). In versions 1.x and template 2 no code for a
                list, the log only, and EI0014 for a key of a super pod.""",
    ),
    Rule(
        "HK102",
        "wrong-type",
        hccl_error="EI0017",
        doc="""A value has the wrong type.

What:           a number where a string is expected, or the reverse, or an array, an object or null.
Why it matters: HCCL accepts one type and treats any other as a missing key. A key that HCCL of some product or job
                reads counts: `device_vnic_port`, `backup_device_ip`.
Example:        "rank_id": 0 in version 1.0, which expects "0"; "rank_count": "8" in version 2.0, which expects 8.
Fix:            put the number in quotes; in version 2.0 take the quotes away.
HCCL:           EI0017, Config X is missing in the ranktable file, though the key is there (R7). In version 2.0 no code
                for a text or a number, EI0014 for a list, and EI0017 for an item of a list; it takes 1.5 for 1 and true
                for 1, numbers that are not meant. In versions 1.x no code if a list or an object is expected; EI0014,
                server_count, if `server_list` is not a list and counts as one of one item. It takes a table whose
                `device_ip` or `rank_ip` it can do without, after the same EI0017 in the log.""",
    ),
    Rule(
        "HK103",
        "invalid-number",
        hccl_error="EI0014",
        variables=("rank_id", "server_count", "super_device_id"),
        doc="""A rank or count is not a number.

What:           `rank_id`, `server_count` or `super_device_id` is not a decimal number of 1 to 10 digits.
Why it matters: HCCL converts the text to a number and stops if it cannot. It looks at the beginning only and reads
                "3x", " 3" and "+3" as 3, "10.0.0.1" as 10: not the number that is meant.
Example:        "rank_id": "-1", " 1", "0x1" or ""
Fix:            write the number in decimal digits, without sign and spaces.
HCCL:           EI0014, rank_id "is a non-negative integer." (R8, R17, R29), and so for super_device_id; no code for
                `server_count`, the counts of template 2 and in version 1.1, the log only. It takes a text that begins
                with a number.""",
    ),
    Rule(
        "HK104",
        "invalid-device-id",
        doc="""A device id is not a number.

What:           `device_id` is not a decimal number of 1 to 10 digits.
Why it matters: HCCL converts the text to a number and stops if it cannot. It looks at the beginning only and reads
                "3x", " 3" and "+3" as 3: not the card that is meant.
Example:        "device_id": "davinci0"
Fix:            write the physical id: the N of /dev/davinciN.
HCCL:           no code; the log only (R11). It takes a text that begins with a number.""",
    ),
    Rule(
        "HK105",
        "not-a-rank-table",
        hccl_error="EI0017",
        doc="""The document is not an HCCL rank table.

What:           a file of another kind, which the finding names: a topology file, a table of an inference server, ...
Why it matters: HCCL looks for `server_list`, `rank_list` or `group_list` and finds none.
Example:        the prefill/decode table of vllm-ascend given as RANK_TABLE_FILE.
Fix:            set RANK_TABLE_FILE to a rank table; the finding says where to get it.
HCCL:           EI0017 for the first string that it looks for (status), no code if only server_list is missing.""",
    ),
    Rule(
        "HK107",
        "unknown-version",
        hccl_error="EI0014",
        variables=("version",),
        doc="""The version is unknown.

What:           HCCL has no parser for the value of `version`.
Why it matters: HCCL chooses its parser by this text alone.
Example:        "version": "1"; "version": "v1.0"
Fix:            write "1.0", or "1.2" for the super pods of Atlas A3, or "2.0" for Atlas 950.
HCCL:           EI0014, version "a valid version number."
""",
    ),
    Rule(
        "HK108",
        "unsupported-version",
        hccl_error="EI0014",
        variables=("version",),
        doc="""The product does not read this version.

What:           the table is made for another generation of hardware than the product named.
Why it matters: HCCL of this product has no parser for it, so every job stops at its first step; or, of template 2,
                nothing says that it works there.
Example:        a table of version 2.0 on Atlas A2; `server_list` on Atlas 950.
Fix:            generate the table again for the product, or name the product that the table is for.
HCCL:           EI0014, version "a valid version number.", for version 2.0. Atlas 950 reads any table as one of version
                2.0 and checks the version last: EI0017 for the first key that it misses, EI0014 if it misses none. The
                parser of template 2 asks for no product and accepts it; the manual has it for 910 only, so on other
                products that is an error here, without code.""",
    ),
    Rule(
        "HK109",
        "table-not-ready",
        severity="warning",
        doc="""The table is not ready yet.

What:           `status` is "initializing": the program that fills the table has not finished.
Why it matters: HCCL checks once a second for "completed", for up to 1800 s; the rest is not checked here.
Example:        hccl.json of a job on Kubernetes, read before all pods run.
Fix:            wait for "completed"; if it does not come, check the program that writes the table.
HCCL:           waits, then a timeout (R6).""",
    ),
    Rule(
        "HK112",
        "version-list-mismatch",
        hccl_error="EI0014",
        variables=("version",),
        doc="""The version does not match the list in the file.

What:           `version` names one format, and the file holds the list of another.
Why it matters: HCCL chooses its parser by the version alone, and then does not find what that one reads.
Example:        "version": "2.0" above a server_list, which is of versions 1.0 and 1.2.
Fix:            write the version of the list in the file, or generate the table again in the other format.
HCCL:           EI0014, version, if it has no parser for it; else no code, the log only (section 1.0, R7), and EI0017
                for the first text that the parser misses: on Atlas 950 rank_count.""",
    ),
    Rule(
        "HK113",
        "draft-version",
        doc="""The document is a draft of version 2.0.

What:           the levels have the keys level, id, fabric_type and rank_addrs of the time before the release.
Why it matters: HCCL's parser requires net_layer, net_instance_id, net_type and rank_addr_list.
Example:        {"level": 0, "id": "az0-rack0", "fabric_type": "INNER", "rank_addrs": []}
Fix:            generate the table again with the tool of the installed release.
HCCL:           EI0017, Config net_layer is missing in the ranktable file; no code where rank_count is a text (R34).""",
    ),
    Rule(
        "HK114",
        "number-out-of-range",
        doc="""A number is out of range.

What:           a number of version 2.0 is lower or higher than its field accepts.
Why it matters: HCCL refuses the table.
Example:        "rank_count": 65537, "net_layer": 8, "local_id": -1
Fix:            write a number within the bounds that the message names.
HCCL:           EI0014 for rank_id and rank_count, and for a number below 0 of any other required key; no code else, the
                parser refuses the table (R34). It takes the `listen_port` 65536, which is not a valid port.""",
    ),
    Rule(
        "HK115",
        "invalid-length",
        doc="""A string or list is too short or too long.

What:           a string or list of version 2.0 has fewer or more items than its field accepts.
Why it matters: HCCL refuses the table.
Example:        "ports": [], more than 24 addresses, an empty net_instance_id.
Fix:            write as many as the message names.
HCCL:           EI0014 for `addr` and for an empty `rank_list`, else no code; the parser refuses the table (R34). It
                counts every port of `ports` once, so it takes more than 16 if some are duplicates.""",
    ),
    Rule(
        "HK116",
        "unknown-value",
        doc="""A value is not one of the accepted values.

What:           a field of version 2.0 with a fixed set of values holds another one.
Why it matters: HCCL refuses the table.
Example:        "addr_type": "IP", "net_type": "MESH"
Fix:            write one of the values that the message names.
HCCL:           no code; the parser refuses the table (R34).""",
    ),
)
