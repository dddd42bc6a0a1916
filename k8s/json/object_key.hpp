#pragma once
// For readers of objects: the name of an object, and the error for an object without one.

#include <string>
#include <string_view>

#include "k8s/json/json_cursor.hpp"
#include "scheduler/base/result.hpp"
#include "scheduler/model/pod.hpp"

namespace gpuctl::k8s {

// Of metadata, or of a reference to another object.
inline void read_object_key(JsonCursor& cursor, ObjectKey& key) {
    cursor.object([&](std::string_view member) {
        if (member == "name") {
            key.name = cursor.string();
        } else if (member == "namespace") {
            key.namespace_name = cursor.string();
        } else {
            cursor.skip();
        }
    });
}

// "a PodGroup"
inline Error unreadable_object(std::string_view what) {
    return make_error(ErrorCode::InvalidJson, std::string(what) +
                                                  " from the API server cannot be read: it is cut, "
                                                  "malformed, or has no name");
}

}  // namespace gpuctl::k8s
