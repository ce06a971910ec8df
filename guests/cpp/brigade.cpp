// Measures C++20 coroutines under Boost.Asio: a hand-over, creation and memory, each as a
// subcommand. Prints laps, as docs/PROTOCOL.md describes them.
//
// Asio before 1.78 has no channel, so a hop is a completion handler that one coroutine posts
// and another awaits, on one thread, in memory. With
// `--channel pipe` it is a write into a pipe and a read that waits for it, by epoll. Known
// biases: a handler is allocated for every hop, from Asio's per-thread allocator.
#include <utility> // Boost 1.74 forgets it

#include <boost/asio.hpp>
#include <boost/version.hpp>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace asio = boost::asio;
using asio::awaitable, asio::use_awaitable;

static std::map<std::string, std::string> flags{
    {"tasks", "500"}, {"iters", "1000"}, {"warmups", "-1"}, {"max-time", "1e9"}, {"channel", "memory"}};
// The most laps that the runner accepts.
static constexpr std::int64_t most_laps = 1'000'000;
static volatile std::sig_atomic_t stopped = 0;
static std::vector<std::string> ledger;
// Values of flags.
static std::size_t iters;
static std::int64_t warmups;
static double max_time;
static asio::io_context context{1};

[[noreturn]] static void usage(const std::string &what) {
    std::cerr << "asio-brigade: cannot follow " << what << "; known: brigade, creation, memory, and with a"
              << " value each --tasks, --iters, --warmups, --max-time, --channel memory|pipe\n";
    std::exit(2);
}

[[noreturn]] static void refuse(const std::string &flag, const std::string &why) {
    std::cerr << "asio-brigade: --" << flag << ' ' << flags[flag] << ": " << why << '\n';
    std::exit(2);
}

// The value of a flag, from least to most.
static std::int64_t whole(const std::string &flag, std::int64_t least, std::int64_t most) {
    const std::string &text = flags[flag];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
        refuse(flag, "not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
}

static double seconds(const std::string &flag) {
    const std::string &text = flags[flag];
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    // Without the words nan and inf.
    const bool is_number = !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;
    if (!is_number || *end != '\0' || !(value >= 0 && value <= 1e9))
        refuse(flag, "not a number of seconds from 0 to 1e9");
    return value;
}

static std::int64_t now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// A slot for one token: the receiver stores its handler, and the sender posts it.
class Memory {
    using Handler = asio::async_result<asio::use_awaitable_t<>, void(std::uint64_t)>::handler_type;
    std::optional<Handler> waiting;
    std::optional<std::uint64_t> token;

    void complete() {
        asio::post(context, [handler = std::move(*waiting), value = *token]() mutable { handler(value); });
        waiting.reset();
        token.reset();
    }

public:
    awaitable<void> send(std::uint64_t value) {
        token = value;
        if (waiting) complete();
        co_return;
    }

    auto receive() {
        return asio::async_initiate<const asio::use_awaitable_t<> &, void(std::uint64_t)>(
            [this](auto handler) {
                waiting.emplace(std::move(handler));
                if (token) complete();
            },
            use_awaitable);
    }
};

class Pipe {
    asio::posix::stream_descriptor reader{context}, writer{context};

public:
    Pipe() {
        int ends[2];
        if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "opening a pipe");
        reader.assign(ends[0]);
        writer.assign(ends[1]);
    }
    awaitable<void> send(std::uint64_t value) {
        co_await asio::async_write(writer, asio::buffer(&value, sizeof value), use_awaitable);
    }
    awaitable<std::uint64_t> receive() {
        std::uint64_t value = 0;
        co_await asio::async_read(reader, asio::buffer(&value, sizeof value), use_awaitable);
        co_return value;
    }
};

struct Measured {
    std::string name, operation;
    std::size_t operations;
    std::vector<std::int64_t> laps;
    std::size_t warmups = 0;
};
using Lap = std::function<awaitable<std::int64_t>()>;

// At least this many laps and seconds; only the first may begin after --max-time.
static awaitable<std::vector<std::int64_t>> laps(std::size_t count, double seconds, const Lap &lap) {
    std::vector<std::int64_t> taken;
    const auto begun = now();
    const auto passed = [begun] { return static_cast<double>(now() - begun) / 1e9; };
    while (!stopped && (taken.size() < count || passed() < seconds)) {
        if (!taken.empty() && passed() > max_time) break;
        taken.push_back(co_await lap());
    }
    co_return taken;
}

// Prints a word and waits for a line or end of file, while the runner reads our counters.
static void mark(const char *word) {
    std::cout << word << std::endl;
    std::string line;
    std::getline(std::cin, line);
}

// The warm-up, and between the two marks the measured laps.
static awaitable<void> measure(Measured &measured, Lap lap) {
    const bool is_default = warmups < 0;
    const auto warm =
        co_await laps(is_default ? 3 : static_cast<std::size_t>(warmups), is_default ? 0.02 : 0, lap);
    measured.warmups = warm.size();
    mark("measuring");
    measured.laps = co_await laps(iters, 0, lap);
    mark("measured");
}

template <class Channel> static awaitable<void> relay(Channel &upstream, Channel &downstream) {
    for (;;) {
        const std::uint64_t token = co_await upstream.receive();
        co_await downstream.send(token + 1);
    }
}

template <class Channel> static awaitable<void> brigade(std::size_t tasks, Measured &measured) {
    measured = {"iteration", "hop", tasks + 1, {}};
    std::vector<std::unique_ptr<Channel>> channels;
    for (std::size_t i = 0; i <= tasks; i++) channels.push_back(std::make_unique<Channel>());
    for (std::size_t i = 0; i < tasks; i++)
        asio::co_spawn(context, relay<Channel>(*channels[i], *channels[i + 1]), asio::detached);
    co_await measure(measured, [&]() -> awaitable<std::int64_t> {
        const auto begun = now();
        co_await channels.front()->send(0);
        const std::uint64_t total = co_await channels.back()->receive();
        const auto taken = now() - begun;
        if (total != tasks) throw std::runtime_error("the token came round as " + std::to_string(total));
        co_return taken;
    });
    context.stop();
}

// A lap starts this many coroutines, which end at once, and waits for the last one.
static awaitable<void> creation(std::size_t tasks, Measured &measured) {
    measured = {"create", "coroutine creation and end", tasks, {}};
    Memory all;
    co_await measure(measured, [&]() -> awaitable<std::int64_t> {
        const auto begun = now();
        std::size_t running = tasks;
        for (std::size_t i = 0; i < tasks; i++)
            asio::co_spawn(context, [&]() -> awaitable<void> {
                if (--running == 0) co_await all.send(0);
            }, asio::detached);
        co_await all.receive();
        co_return now() - begun;
    });
}

// Memory of process and machine while this many coroutines wait.
static std::string held(std::size_t tasks) {
    std::map<std::string, std::string> of;
    for (const char *path : {"/proc/self/status", "/proc/self/smaps_rollup", "/proc/meminfo"}) {
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string name, kib, unit;
            if (words >> name >> kib >> unit && unit == "kB") of[name] = std::to_string(std::stoll(kib) * 1024);
        }
    }
    std::string point = "{\"tasks\":" + std::to_string(tasks);
    for (const auto &[name, key] : std::initializer_list<std::pair<const char *, const char *>>{
             {"resident", "Rss:"}, {"proportional", "Pss:"}, {"virtual", "VmSize:"}, {"page_table", "VmPTE:"},
             {"kernel_stack", "KernelStack:"}, {"unreclaimable_slab", "SUnreclaim:"}})
        point += std::string(",\"") + name + "_bytes\":" + (of.count(key) ? of[key] : "null");
    return point + "}";
}

// A lap starts another share of the coroutines, which wait; then memory is read.
static awaitable<void> memory(std::size_t tasks, Measured &measured) {
    const auto step = (tasks - tasks / 2) / iters;
    measured = {"create", "coroutine creation", step, {}};
    std::vector<std::unique_ptr<Memory>> gates;
    const auto start = [&](std::size_t count) -> awaitable<void> {
        for (std::size_t i = 0; i < count; i++) {
            gates.push_back(std::make_unique<Memory>());
            asio::co_spawn(context, [gate = gates.back().get()]() -> awaitable<void> {
                co_await gate->receive();
            }, asio::detached);
        }
        co_await asio::post(context, use_awaitable); // after all of them
    };
    co_await start(tasks - step * iters);
    flags["warmups"] = "0";
    warmups = 0;
    co_await measure(measured, [&]() -> awaitable<std::int64_t> {
        const auto begun = now();
        co_await start(step);
        const auto taken = now() - begun;
        ledger.push_back(held(gates.size()));
        co_return taken;
    });
    context.stop();
}

static std::string list(const auto &of) {
    std::ostringstream text;
    for (const auto &one : of) text << (text.tellp() > 0 ? "," : "[") << one;
    return text.str() + "]";
}

static void print(const std::string &program, std::size_t tasks, const Measured &of) {
    std::cout << "{\"schema_version\":\"1.2\",\"form\":\"laps\",\"program\":\"asio-brigade\",\"kind\":\"coroutine\",\"tasks\":" << tasks
              << ",\"warmups\":" << of.warmups << ",\"runtime\":\"Boost " << BOOST_LIB_VERSION << ", g++ " << __VERSION__
              << "\",\"ended_by\":\""
              << (stopped ? "signal" : of.laps.size() == iters ? "iterations" : "max-time")
              << "\",\"expected_switches_per_operation\":" << (program == "brigade" ? "0" : "null")
              << ",\"parameters\":{\"subcommand\":\"" << program << '"';
    flags["max_time"] = flags.extract("max-time").mapped(); // its name in records
    for (const auto &[name, value] : flags) std::cout << ",\"" << name << "\":\"" << value << '"';
    std::cout << '}' << (ledger.empty() ? "" : ",\"ledger\":" + list(ledger)) << ",\"measurements\":[{\"name\":\""
              << of.name << "\",\"operation\":\"" << of.operation << "\",\"operations\":" << of.operations
              << ",\"covers_all_tasks\":" << (ledger.empty() ? "true" : "false") << ",\"laps_ns\":" << list(of.laps)
              << "}]}" << std::endl;
}

int main(int count, char **words) {
    const bool named = count > 1 && std::string(words[1]).rfind("--", 0) != 0;
    const std::string program = named ? words[1] : "brigade";
    for (int i = named ? 2 : 1; i < count; i += 2) {
        const std::string word = words[i];
        const std::string name = word.rfind("--", 0) == 0 ? word.substr(2) : "";
        if (!flags.count(name) || i + 1 == count) usage(word);
        flags[name] = words[i + 1];
    }
    const auto tasks = static_cast<std::size_t>(whole("tasks", 1, 100'000'000));
    iters = static_cast<std::size_t>(whole("iters", 1, most_laps));
    warmups = whole("warmups", -1, most_laps);
    max_time = seconds("max-time");
    if (program == "memory" && tasks < 2 * iters)
        refuse("tasks", std::to_string(iters) + " readings need " + std::to_string(2 * iters) + " or more");
    std::signal(SIGINT, [](int) { stopped = 1; });
    Measured measured;
    std::exception_ptr failure;
    const auto spawn = [&](awaitable<void> body) {
        asio::co_spawn(context, std::move(body), [&](std::exception_ptr thrown) { failure = thrown; context.stop(); });
    };
    if (program == "brigade" && flags["channel"] == "memory") spawn(brigade<Memory>(tasks, measured));
    else if (program == "brigade" && flags["channel"] == "pipe") spawn(brigade<Pipe>(tasks, measured));
    else if (program == "creation") spawn(creation(tasks, measured));
    else if (program == "memory") spawn(memory(tasks, measured));
    else usage(program + ", --channel " + flags["channel"]);
    context.run();
    if (failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception &error) {
            std::cerr << "asio-brigade: " << error.what() << '\n';
            std::_Exit(1);
        }
    }
    if (!measured.laps.empty()) print(program, tasks, measured);
    std::_Exit(stopped ? 130 : 0); // without waiting for coroutines that wait for ever
}
