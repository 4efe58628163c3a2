"""What `memory demo` saves: notes about Python's standard library, as somebody who works with it writes them."""

from __future__ import annotations

NOTES = """\
argparse.ArgumentParser: Reads the command line: options, positional arguments, help texts and error messages.
array.array: A compact list of numbers of one type; takes an eighth of the memory of a list.
ast.literal_eval: Reads a Python literal from text without running code. Safe for untrusted input, unlike eval.
asyncio.gather: Runs several coroutines at once and returns all their results in order.
asyncio.Semaphore: Limits how many coroutines do something at the same time, such as requests to one server.
base64.b64encode: Turns bytes into plain ASCII text that survives mail and JSON; a third larger.
bisect.bisect_left: Binary search: where an item belongs in a sorted list. insort also puts it there.
calendar.monthrange: The weekday a month begins with, and how many days it has; knows leap years.
collections.ChainMap: Looks a key up in several dictionaries, first match wins; good for defaults and overrides.
collections.Counter: Tallies items: Counter(words) maps every word to its frequency, most_common(3) gives the top three.
collections.defaultdict: A dictionary that makes a missing value itself; for grouping items into lists.
collections.deque: A queue with fast appends and pops at both ends; maxlen keeps only the latest entries.
collections.namedtuple: A tuple whose fields have names; typing.NamedTuple adds types.
concurrent.futures.ProcessPoolExecutor: Spreads heavy computations over all processor cores.
concurrent.futures.ThreadPoolExecutor: Runs blocking calls such as downloads in a pool of threads; as_completed yields them.
configparser.ConfigParser: Reads and writes INI files with sections.
contextlib.contextmanager: Makes a with-block of a generator: what is before the yield sets up, what follows cleans up.
contextlib.ExitStack: Holds a number of context managers that is only known at run time.
contextlib.suppress: A with-block that ignores the named exceptions.
copy.deepcopy: Duplicates an object with everything inside, so that changes do not reach the original.
csv.DictReader: Reads tables exported by spreadsheets, comma or semicolon separated; each row is a dictionary.
dataclasses.dataclass: Writes the constructor, comparison and repr of a class from its annotated fields.
datetime.timedelta: A span of time; add it to a date to get the day two weeks later.
datetime.timezone: Aware timestamps: datetime.now(timezone.utc). Naive and aware ones do not compare.
decimal.Decimal: Exact decimal arithmetic for prices and invoices; quantize rounds to cents.
difflib.get_close_matches: Suggests the nearest spelling: "did you mean".
difflib.unified_diff: Shows the differences of two lists of lines, old revision against new, as git and diff do.
email.message.EmailMessage: Builds a mail with subject, recipients, text and attachments; smtplib delivers it.
enum.Enum: A fixed set of named constants that compare by identity.
filecmp.dircmp: Compares two folders: which files are only in one of them, and which are not the same.
fileinput.input: Loops over the lines of all files named on the command line, or standard input.
fnmatch.fnmatch: Matches file names against shell wildcards such as *.txt.
fractions.Fraction: Rational numbers: a third stays a third.
functools.cache: Remembers what a function returned for the same arguments; lru_cache limits how much is held.
functools.partial: Fixes some arguments of a function now, the rest come later.
functools.singledispatch: Picks the implementation of a function by the type of its first argument.
functools.total_ordering: Fills in the missing comparison methods of a class.
getpass.getpass: Asks for a password on the terminal without echoing the characters.
glob.glob: Lists the files whose path matches a pattern; ** descends into subfolders.
gzip.open: Reads and writes files compressed with gzip, as text or bytes.
hashlib.sha256: A fingerprint of bytes, to check that a download is intact.
heapq.heappush: A priority queue in a plain list: the smallest item is always first.
heapq.nlargest: The n biggest items without sorting everything.
hmac.compare_digest: Compares two secrets in constant time, so that timing gives nothing away.
html.escape: Makes text safe to put into a web page.
http.server: A small web server for a folder: python -m http.server. Not for production.
importlib.resources: Reads data files that ship inside a package.
inspect.signature: Which parameters a function takes, with defaults and annotations.
io.StringIO: A text file in memory, for functions that want a file.
ipaddress.ip_network: Addresses and subnets: whether one contains the other, how many hosts there are.
itertools.chain: Walks through several iterables one after another as if they were one.
itertools.combinations: All ways to choose k items out of n, without order.
itertools.groupby: Groups neighbours with the same key; sort first.
itertools.islice: Takes a part of an iterator that cannot be indexed.
itertools.pairwise: Each item together with the one that follows.
itertools.product: All combinations of several lists: nested loops in one line.
json.dumps: Turns dictionaries and lists into JSON text; indent makes it readable.
json.loads: Parses JSON text from a web service into dictionaries and lists.
locale.setlocale: Numbers and dates in the conventions of a country.
logging.getLogger: Messages with levels and a destination; call basicConfig once in the program, not in libraries.
logging.handlers.RotatingFileHandler: Starts a new log file when the old one gets too big.
math.isclose: Whether two floating-point numbers are equal but for rounding errors.
mimetypes.guess_type: The content type of a file by its extension.
multiprocessing.Queue: Passes objects between processes.
operator.itemgetter: A function that fetches a key or an index; the usual key for sorted.
os.environ: Environment variables as a dictionary.
os.replace: Renames a file in one atomic step, also over an existing one: write elsewhere, then replace.
os.scandir: Lists a folder quickly, with sizes and types at hand.
pathlib.Path: File paths as objects: joining, suffixes, reading and writing whole files.
pdb.set_trace: Stops here and opens the debugger; breakpoint() does the same.
pickle.dumps: Serialises nearly any Python object. Never load a pickle from somebody you do not trust.
platform.system: Whether this is Linux, macOS or Windows.
pprint.pprint: Prints nested data with line breaks and indentation.
queue.Queue: Hands work from one thread to another; join waits until all of it is done.
random.choice: Picks an element by chance: heads or tails, a winner from a list. Not for secrets.
random.shuffle: Mixes a list in place, like a deck of cards.
re.compile: Regular expressions: finds and captures patterns in text; verbose mode allows comments.
re.sub: Replaces all matches of a pattern, with text or with what a function returns.
sched.scheduler: Runs functions at given times, in one thread.
secrets.token_urlsafe: An unguessable token for password resets and sessions.
select.select: Waits until one of several sockets has data.
shelve.open: A dictionary on disk.
shlex.split: Splits a command line into words as a shell does, quotes included.
shutil.copytree: Copies a folder with everything below it.
shutil.disk_usage: How much space is free on a disk.
shutil.rmtree: Deletes a folder with everything below it. There is no undo.
shutil.which: Where a program is on the PATH, or None.
signal.signal: Reacts to Ctrl-C and to the request to terminate.
smtplib.SMTP: Talks to a mail server to deliver messages: starttls, login, send_message.
socket.create_connection: Opens a TCP connection to a host and port, with a timeout.
sqlite3.connect: An SQL database in a single file, or in memory.
ssl.create_default_context: Safe defaults for TLS connections, certificates checked.
statistics.median: The middle value, which outliers do not move; mean and stdev are there too.
string.Template: Fills in $placeholders from user-supplied text without running code.
struct.unpack: Decodes binary records into numbers by a format string, with byte order.
subprocess.run: Starts another program and captures its output; check=True raises if it fails.
sys.getsizeof: How many bytes an object itself takes, without what it refers to.
tarfile.open: Reads and writes tar archives; extract with the data filter, or paths can escape.
tempfile.TemporaryDirectory: A scratch folder that is removed at the end of the with-block.
tempfile.NamedTemporaryFile: A scratch file with a name that other programs can open.
textwrap.dedent: Removes the common indentation of a multi-line string.
textwrap.fill: Breaks a paragraph into lines of a given width.
threading.Event: Lets threads wait until another one says go.
threading.Lock: Only one thread at a time enters the with-block.
time.monotonic: A clock that never goes backwards, for measuring durations and timeouts.
time.perf_counter: The clock with the highest resolution, for benchmarks.
timeit.timeit: Runs a snippet many times and says how long it takes.
tomllib.loads: Parses TOML such as pyproject.toml; it cannot write.
traceback.format_exc: The stack trace of the current exception as text, for logs.
tracemalloc.start: Finds out which lines allocate the memory that leaks.
types.MappingProxyType: A read-only view of a dictionary.
typing.Protocol: Says which methods an argument needs, whatever its class.
unicodedata.normalize: Makes accented letters that look alike compare equal.
unittest.mock.patch: Replaces something for the length of a test.
urllib.parse.urlsplit: Takes a web address apart: host, path, query.
urllib.request.urlopen: Downloads a page without third-party packages.
uuid.uuid4: A random identifier that never collides.
venv: Isolated environments, each with its own packages.
warnings.warn: Tells callers that something is deprecated, once per place.
weakref.WeakValueDictionary: A cache that does not keep its entries alive.
webbrowser.open: Shows a page in the user's browser.
xml.etree.ElementTree: Parses and builds XML; for untrusted files use defusedxml.
zipfile.ZipFile: Reads, creates and unpacks ZIP archives, member by member.
zoneinfo.ZoneInfo: Time zones by name, such as Europe/Berlin, with daylight saving.
"""
"""A note a line: its title, and what it says."""
