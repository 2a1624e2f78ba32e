*** Settings ***
Documentation       What no pod may send, from raw sockets: each class is dropped and counted, and honest traffic goes on.
Resource            ../resources/coeus.resource
Suite Setup         Start One Node With An Attacker
Suite Teardown      Stop Lab
Test Template       Attack Should Be Counted

*** Test Cases ***
Frames With A VLAN Tag                      vlan
Spanning Tree And LLDP                      link protocol
Router Advertisements And Redirects         router
DHCP And DHCPv6 Servers                     dhcp server
Another Source MAC                          source mac
ARP Of Others                               arp sender
Neighbour Messages Of Others                nd sender
Another IPv4 Source                         ipv4 source
Another IPv6 Source                         ipv6 source
Another Link-Local Source                   link local

Honest Traffic Goes On
    [Template]    NONE
    Forget Neighbours    blue:p1
    Forget Neighbours    blue:p2
    Ping Should Pass    blue:p1    10.11.1.11
    Ping Should Pass    blue:p1    fd00:1::11
    ${mac}=    Resolved Mac    blue:p2    10.11.1.10
    ${own}=    Pod Mac    blue:p1
    Should Be Equal    ${mac}    ${own}

*** Keywords ***
Attack Should Be Counted
    [Arguments]    ${kind}
    ${sent}=    Attack    blue:p1    blue:p2    ${kind}    fd00:1::10    fd00:1::11
    Should Be True    ${sent} >= 5

Start One Node With An Attacker
    Start Lab And Session    1
    Announce Node    1    10.11.1.0/24
    FOR    ${number}    IN    0    1
        ${name}=    Evaluate    f"p{${number} + 1}"
        ${body}=    Dual Pod Body    ${name}    blue    1    10.11.1.1${number}    fd00:1::1${number}
        ${uid}=    Pod Uid    blue:${name}
        PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=201
        Plug Pod    ${name}    blue    1    10.11.1.1${number}/24    10.11.1.1
        Add Address    blue:${name}    fd00:1::1${number}/64
    END
    Ping Should Pass    blue:p1    10.11.1.11
    Ping Should Pass    blue:p1    fd00:1::11
