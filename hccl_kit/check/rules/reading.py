"""HK0 and HK1: the pages of the rules that the readers enforce (`document`, `formats`, `schema`, `check`)."""

NOT_JSON = """
The text is not JSON.

What:           the file is no JSON document: a comment, a comma too many, a bracket too few, text after the end.
Why it matters: HCCL parses strictly and reads nothing of a file that has one such place.
Example:        the sample of a manual with its // comments; a comma after the last device.
Fix:            correct the marked place.
HCCL:           EI0004, Failed to parse the ranktable file (R3). Its parser of versions 1.x reads one value and takes
                what comes after it; other programs do not, so that is an error here, without code.
"""

NOT_UTF8 = """
The text is not UTF-8.

What:           the bytes of the file are no UTF-8: UTF-16 from an editor, GBK, or no text at all.
Why it matters: JSON is UTF-8, and HCCL's parser refuses other bytes.
Example:        a table saved as "Unicode" on Windows.
Fix:            save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 old.json > new.json`.
HCCL:           EI0004, Failed to parse the ranktable file (R3).
"""

BYTE_ORDER_MARK = """
The file starts with a byte order mark.

What:           the three bytes EF BB BF stand before the first bracket.
Why it matters: some programs that read rank tables skip the mark, others refuse the file.
Example:        a table saved as "UTF-8 with BOM".
Fix:            save it as UTF-8 without BOM.
HCCL:           takes it; other programs that read the table may not.
"""

KEY_TWICE = """
A key is given twice in one object.

What:           one object of the file holds a key two times.
Why it matters: parsers differ in which of the two they take, so two programs read two tables.
Example:        {"rank_id": "0", "device_ip": "192.168.1.1", "rank_id": "1"}
Fix:            remove the one that is wrong.
HCCL:           does not look for it; its parser keeps one of the two.
"""

NESTED_TOO_DEEPLY = """
Brackets are nested too deeply.

What:           objects and arrays stand in each other far beyond what a rank table needs.
Why it matters: such a text only serves to exhaust a parser.
Example:        a thousand opening brackets.
Fix:            make the table anew.
HCCL:           sets no bound of its own that is known; this program does, to stay in its memory.
"""

NUMBER_TOO_LARGE = """
A number is too large.

What:           a number of more digits than any parser keeps.
Why it matters: it is read as another value, or not at all.
Example:        "rank_id": 1000000000000000000000000
Fix:            write the number that was meant.
HCCL:           sets no bound of its own that is known; this program does, to stay in its memory.
"""

FILE_TOO_LARGE = """
The file is larger than HCCL reads.

What:           the file has more than 40 MiB.
Why it matters: HCCL's parser of versions 1.x has this limit.
Example:        a table in which one program appended to another's output.
Fix:            leave out what HCCL does not read; 65,536 devices fit into 20 MiB.
HCCL:           no code; the log only (R4).
"""

PATH = """
The path is not one with ".json" at its end only.

What:           the path does not end in ".json", or holds ".json" before its end too.
Why it matters: HCCL looks for the first ".json" of the whole path and wants it at the end.
Example:        table.txt; /data/a.json.d/table.json
Fix:            rename the file or its folder before RANK_TABLE_FILE names it.
HCCL:           no code; the log says "not a valid .json file" (R2).
"""

BEYOND_US = """
The file is more than this program reads.

What:           the file is larger than 256 MiB, or holds more than 16 million objects and arrays.
Why it matters: reading it would take more memory than a check is worth.
Example:        the path of a log or a checkpoint in place of the table.
Fix:            name the rank table; one of 65,536 devices takes about 11 MiB.
HCCL:           refuses more than 40 MiB of versions 1.x (R4) and more than 1 GiB of version 2.0.
"""

KEY_MISSING = """
A required key is missing.

What:           an object lacks a key that HCCL always reads.
Why it matters: HCCL refuses the whole table. The keys of super pods count on every product, though Atlas A3 alone reads
                them.
Example:        a device without "rank_id"; "devcie_id" for "device_id".
Fix:            add the key; the finding names it, and the slip where there is one.
HCCL:           EI0017, Config X is missing in the ranktable file (R5, R7). In versions 1.x and template 2 no code for a
                list, the log only, and EI0014 for a key of a super pod.
"""

OTHER_TYPE = """
A value has another type.

What:           a number where a text is expected, or the other way round, or an array, an object or null.
Why it matters: HCCL asks for one type and treats any other as a missing key. A key that HCCL of some product or job
                reads counts: `device_vnic_port`, `backup_device_ip`.
Example:        "rank_id": 0 in version 1.0, which wants "0"; "rank_count": "8" in version 2.0, which wants 8.
Fix:            put the number in quotes; in version 2.0 take the quotes away.
HCCL:           EI0017, Config X is missing in the ranktable file, though the key is there (R7). In version 2.0 no
                code for a text or a number, EI0014 for a list, and EI0017 for an item of a list; it takes 1.5 for 1 and
                true for 1, numbers that are not meant. In versions 1.x no code where a list or an object is expected;
                EI0014, server_count, where `server_list` is none and counts as a list of one. It takes a table whose
                `device_ip` or `rank_ip` it can do without, after the same EI0017 in the log.
"""

NO_NUMBER = """
A rank or count is no number.

What:           `rank_id`, `server_count` or `super_device_id` is a text that is no decimal number of 1 to 10 digits.
Why it matters: HCCL turns the text into a number and stops where it cannot. It looks at the beginning only and reads
                "3x", " 3" and "+3" as 3, "10.0.0.1" as 10: not the number that is meant.
Example:        "rank_id": "-1", " 1", "0x1" or ""
Fix:            write the number in decimal digits, without sign and spaces.
HCCL:           EI0014, rank_id "is a non-negative integer." (R8, R17, R29), and so for super_device_id; no code for
                `server_count`, the counts of template 2 and in version 1.1, the log only. It takes a text that begins
                with a number.
"""

DEVICE_ID_NO_NUMBER = """
A device id is no number.

What:           `device_id` is a text that is no decimal number of 1 to 10 digits.
Why it matters: HCCL turns the text into a number and stops where it cannot. It looks at the beginning only and reads
                "3x", " 3" and "+3" as 3: not the card that is meant.
Example:        "device_id": "davinci0"
Fix:            write the physical id: the N of /dev/davinciN.
HCCL:           no code; the log only (R11). It takes a text that begins with a number.
"""

NO_RANK_TABLE = """
The document is no rank table of HCCL.

What:           a file of another kind, which the finding names: a topology file, a table of an inference server, ...
Why it matters: HCCL looks for `server_list`, `rank_list` or `group_list` and finds none.
Example:        the prefill/decode table of vllm-ascend given as RANK_TABLE_FILE.
Fix:            name the file that RANK_TABLE_FILE is to name; the finding says where it is to be had.
HCCL:           EI0017 for the first text that it looks for (status), no code where only server_list is missing.
"""

UNKNOWN_VERSION = """
Nobody knows this version.

What:           `version` is none of those that HCCL has a parser for.
Why it matters: HCCL chooses its parser by this text alone.
Example:        "version": "1"; "version": "v1.0"
Fix:            write "1.0", or "1.2" for the super pods of Atlas A3, or "2.0" for Atlas 950.
HCCL:           EI0014, version "a valid version number."
"""

OTHER_GENERATION = """
The product does not read this version.

What:           the table is made for another generation of hardware than the product named.
Why it matters: HCCL of this product has no parser for it, so every job stops at its first step; or, of template 2,
                nothing says that it works there.
Example:        a table of version 2.0 on Atlas A2; `server_list` on Atlas 950.
Fix:            make the table anew for the product, or name the product that the table is for.
HCCL:           EI0014, version "a valid version number.", for version 2.0. Atlas 950 reads any table as one of version
                2.0 and looks at the version at last: EI0017 for the first key that it misses, EI0014 where it misses
                none. The parser of template 2 asks for no product and takes it; the manual has it for 910 only, so on
                other products that is an error here, without code.
"""

NOT_READY = """
The table is not ready yet.

What:           `status` is "initializing": the program that fills the table has not finished.
Why it matters: HCCL looks once a second until it reads "completed", for up to 1800 s; the rest is not judged here.
Example:        hccl.json of a job on Kubernetes, looked at before all pods run.
Fix:            wait for "completed"; if it does not come, look at the program that writes the table.
HCCL:           waits, then a timeout (R6).
"""

OTHER_LIST = """
The version is not that of the list below it.

What:           `version` names one format, and the file holds the list of another.
Why it matters: HCCL chooses its parser by the version alone, and then does not find what that one reads.
Example:        "version": "2.0" above a server_list, which is of versions 1.0 and 1.2.
Fix:            write the version of the list that is there, or make the table anew in the other format.
HCCL:           EI0014, version, where it has no parser for it; else no code, the log only (R7), and EI0017
                for the first text that the parser misses: on Atlas 950 rank_count.
"""

DRAFT = """
The document is a draft of version 2.0.

What:           the levels have the keys level, id, fabric_type and rank_addrs of the time before the release.
Why it matters: HCCL's parser asks for net_layer, net_instance_id, net_type and rank_addr_list.
Example:        {"level": 0, "id": "az0-rack0", "fabric_type": "INNER", "rank_addrs": []}
Fix:            make the table anew with the tool of the release that is installed.
HCCL:           EI0017, Config net_layer is missing in the ranktable file; no code where rank_count is a text (R34).
"""

OUT_OF_BOUNDS = """
A number is outside its bounds.

What:           a number of version 2.0 is lower or higher than its field takes.
Why it matters: HCCL refuses the table.
Example:        "rank_count": 65537, "net_layer": 8, "local_id": -1
Fix:            write a number within the bounds that the message names.
HCCL:           EI0014 for rank_id and rank_count, and for a number below 0 of any other required key; no code else, the
                parser refuses the table (R34). It takes the `listen_port` 65536, which is not a valid port.
"""

LENGTH = """
A text or list is too short or too long.

What:           a text or list of version 2.0 has fewer or more items than its field takes.
Why it matters: HCCL refuses the table.
Example:        "ports": [], more than 24 addresses, an empty net_instance_id.
Fix:            write as many as the message names.
HCCL:           EI0014 for `addr` and for an empty `rank_list`, else no code; the parser refuses the table (R34). It
                counts every port of `ports` once, so it takes more than 16 where some are given twice.
"""

NO_SUCH_WORD = """
A word is none of those accepted.

What:           a field of version 2.0 that takes a few words holds another.
Why it matters: HCCL refuses the table.
Example:        "addr_type": "IP", "net_type": "MESH"
Fix:            write one of the words that the message names.
HCCL:           no code; the parser refuses the table (R34).
"""
