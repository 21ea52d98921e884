#ifndef BELAY_EXAMPLE_AGENT_TERMINAL_HPP
#define BELAY_EXAMPLE_AGENT_TERMINAL_HPP

// Lines of text for a person. What scripts, tools and hooks wrote is shown, never obeyed: no control
// character of theirs reaches the terminal.

#include <ostream>
#include <string>
#include <string_view>

namespace agent {

/// `text` on one line, with every control character and every character that would change the
/// direction of text spelled out, as in \u{1b}.
std::string printable(std::string_view text);

enum class style : unsigned char { plain, bold, dim, green, yellow, red };

/// Text in a style.
struct styled {
    style how;
    std::string_view text;
};

inline styled bold(std::string_view text)
{
    return {style::bold, text};
}
inline styled dim(std::string_view text)
{
    return {style::dim, text};
}

class terminal {
public:
    terminal(std::ostream& out, bool colours) : out_(out), colours_(colours) {}

    /// One line from parts, each a string or `styled`. The end of a very long part is only counted.
    template <class... Part>
    void line(int indent, const Part&... parts)
    {
        out_ << std::string(static_cast<std::size_t>(indent), ' ');
        (put(parts), ...);
        out_ << '\n';
    }

    /// Several lines as they are, each after `margin`; those after the first `most` are only counted.
    void text(int indent, std::string_view margin, std::string_view lines, std::size_t most,
              style how = style::plain);

    /// What another terminal has shown, each line after `margin` and a space.
    void block(int indent, std::string_view margin, std::string_view shown);

    void gap() { out_ << '\n'; }
    void flush() { out_.flush(); }

    bool has_colours() const noexcept { return colours_; }

private:
    void put(std::string_view text) { put(styled{style::plain, text}); }
    void put(styled text);

    std::ostream& out_;
    bool colours_;
};

/// Whether standard output is a terminal that wants colours: https://no-color.org.
bool stdout_has_colours();

}  // namespace agent

#endif
