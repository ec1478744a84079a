<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use PHPUnit\Framework\Assert;

/** A self-signed certificate for a host name, with its key: itself the authority that one has to trust. */
final class Certificate
{
    /** @return string what a file with both holds */
    public static function for(string $host, TemporaryDirectory $directory): string
    {
        $configuration = $directory->write('openssl.cnf', "[req]\ndistinguished_name = name\n[name]\n[own]\nsubjectAltName = DNS:$host\nbasicConstraints = CA:TRUE\n");
        $settings = ['config' => $configuration, 'private_key_bits' => 2048, 'private_key_type' => \OPENSSL_KEYTYPE_RSA, 'x509_extensions' => 'own', 'digest_alg' => 'sha256'];
        $key = \openssl_pkey_new($settings);
        Assert::assertNotFalse($key);
        $request = \openssl_csr_new(['commonName' => $host], $key, $settings);
        Assert::assertInstanceOf(\OpenSSLCertificateSigningRequest::class, $request);
        $certificate = \openssl_csr_sign($request, null, $key, 1, $settings);
        Assert::assertNotFalse($certificate);
        Assert::assertTrue(\openssl_x509_export($certificate, $text));
        Assert::assertTrue(\openssl_pkey_export($key, $secret, null, $settings));

        return $text . $secret;
    }
}
