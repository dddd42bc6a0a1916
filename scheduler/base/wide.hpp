#pragma once
// An integer for the product of two 64-bit amounts.

namespace gpuctl {

__extension__ typedef __int128 Wide;  // as a `using`, g++ warns that ISO C++ has none

}  // namespace gpuctl
