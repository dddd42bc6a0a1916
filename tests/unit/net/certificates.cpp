#include "unit/net/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <memory>

namespace gpuctl::net {

namespace {

struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Memory = std::unique_ptr<BIO, Free>;

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

Memory memory_of(const std::string& text) {
    return Memory{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

void add_extension(X509* certificate, int id, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

Certificate start_certificate(EVP_PKEY* key, const std::string& name, long valid_seconds) {
    static std::atomic<long> serial{1};
    Certificate certificate{X509_new()};
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_seconds);
    X509_set_pubkey(certificate.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    return certificate;
}

Identity to_identity(X509* certificate, EVP_PKEY* key) {
    const Memory certificate_text{BIO_new(BIO_s_mem())};
    PEM_write_bio_X509(certificate_text.get(), certificate);
    const Memory key_text{BIO_new(BIO_s_mem())};
    PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return {text_of(certificate_text.get()), text_of(key_text.get())};
}

}  // namespace

Identity make_ca(const std::string& name) {
    const Key key{EVP_EC_gen("P-256")};
    const Certificate certificate = start_certificate(key.get(), name, 86'400);
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
    add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    return to_identity(certificate.get(), key.get());
}

Identity issue(const Identity& ca, const std::string& name, const std::string& alternative_names,
               long valid_seconds) {
    const Memory ca_text = memory_of(ca.certificate_pem);
    const Memory ca_key_text = memory_of(ca.key_pem);
    const Certificate issuer{PEM_read_bio_X509(ca_text.get(), nullptr, nullptr, nullptr)};
    const Key issuer_key{PEM_read_bio_PrivateKey(ca_key_text.get(), nullptr, nullptr, nullptr)};
    const Key key{EVP_EC_gen("P-256")};
    const Certificate certificate = start_certificate(key.get(), name, valid_seconds);
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
    if (!alternative_names.empty()) {
        add_extension(certificate.get(), NID_subject_alt_name, alternative_names);
    }
    X509_sign(certificate.get(), issuer_key.get(), EVP_sha256());
    return to_identity(certificate.get(), key.get());
}

}  // namespace gpuctl::net
