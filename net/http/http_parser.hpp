#pragma once
// Beast's parser writing straight into our messages, without its field container in between.
// Private to net/; names Beast types, so only sources include it.

#include <boost/beast/http/basic_parser.hpp>
#include <limits>
#include <string>
#include <string_view>

#include "net/http/http_types.hpp"
#include "net/http/read_buffer.hpp"

namespace gpuctl::net {

namespace beast = boost::beast;

// Feeds what is in the buffer; true unless the message is malformed (`why`).
template <typename Parser>
bool feed(Parser& parser, ReadBuffer& buffer, std::string& why) {
    beast::error_code failure;
    const std::string_view bytes = buffer.bytes();
    buffer.consume(parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), failure));
    if (!failure || failure == beast::http::error::need_more) return true;
    why = failure.message();
    return false;
}

// The part that requests and responses share: fields and a bounded body.
template <bool is_request>
class MessageParser : public beast::http::basic_parser<is_request> {
public:
    explicit MessageParser(HttpFields& fields) : fields_(fields) {
        this->body_limit(boost::none);  // limited below, by the bytes that are stored
    }

    // Where body bytes go from now on, and the size limit of that string.
    void body_to(std::string& sink, std::size_t bytes_max) {
        sink_ = &sink;
        bytes_max_ = bytes_max;
    }

    [[nodiscard]] bool over_limit() const { return over_limit_; }

protected:
    using string_view = beast::string_view;
    using error_code = beast::error_code;
    using Length = boost::optional<std::uint64_t>;

    void on_field_impl(beast::http::field, string_view name, string_view value,
                       error_code&) override {
        if (header_done_) return;  // a trailer: never merged into the header
        fields_.add(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
    }
    void on_header_impl(error_code&) override { header_done_ = true; }
    void on_body_init_impl(const Length& length, error_code& failure) override {
        if (!length || *length <= bytes_max_) return;
        over_limit_ = true;
        failure = beast::http::error::body_limit;
    }
    std::size_t on_body_impl(string_view body, error_code& failure) override {
        if (sink_ == nullptr || body.size() > bytes_max_ - std::min(bytes_max_, sink_->size())) {
            over_limit_ = true;
            failure = beast::http::error::body_limit;
            return 0;
        }
        sink_->append(body.data(), body.size());
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& failure) override {
        return on_body_impl(body, failure);
    }
    void on_finish_impl(error_code&) override {}

    HttpFields& fields_;
    std::string* sink_ = nullptr;
    std::size_t bytes_max_ = 0;
    bool header_done_ = false;
    bool over_limit_ = false;
};

class ResponseParser final : public MessageParser<false> {
public:
    explicit ResponseParser(HttpResponse& response)
        : MessageParser<false>(response.fields), response_(response) {
        eager(true);
        header_limit(30u << 10);  // below the read buffer's size
    }

private:
    void on_request_impl(beast::http::verb, string_view, string_view, int, error_code&) override {}
    void on_response_impl(int status, string_view, int, error_code&) override {
        response_.status = status;
    }

    HttpResponse& response_;
};

class RequestParser final : public MessageParser<true> {
public:
    RequestParser(HttpRequest& request, std::size_t header_bytes_max)
        : MessageParser<true>(request.fields), request_(request) {
        header_limit(static_cast<std::uint32_t>(header_bytes_max));
    }
    [[nodiscard]] int version() const { return version_; }  // 10 or 11

private:
    void on_request_impl(beast::http::verb, string_view method, string_view target, int version,
                         error_code&) override {
        version_ = version;
        request_.method.assign(method.data(), method.size());
        request_.target.assign(target.data(), target.size());
    }
    void on_response_impl(int, string_view, int, error_code&) override {}

    HttpRequest& request_;
    int version_ = 11;
};

}  // namespace gpuctl::net
